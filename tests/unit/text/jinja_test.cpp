// The language of chat templates: expected texts are what Jinja 3.1 prints, with trim_blocks and lstrip_blocks.
#include <llm/text/chat_template.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <support/catch.hpp>

namespace {

const std::vector<llm::ChatMessage> two{{"user", " Hi \n"}, {"assistant", "yes, \xE4\xBD\xA0\xE5\xA5\xBD"}};

std::string print(const std::string& source) { return llm::ChatTemplate(source).write(two, "<s>", "").text; }

std::string refusal(const std::string& source) {
  try {
    return "printed " + print(source);
  } catch (const llm::ValueError& error) {
    return error.what();
  }
}
auto says(const std::string& text) { return Catch::Contains(text); }

}  // namespace

TEST_CASE("white space around tags goes where Jinja lets it go") {
  CHECK(print("a\n") == "a");
  CHECK(print("a\n\n") == "a\n");
  CHECK(print("a\r\nb\rc") == "a\nb\nc");
  CHECK(print("  {% if true %}\n x\n  {% endif %}\ny") == " x\ny");
  CHECK(print("x  {% if true %}\ny{% endif %}") == "x  y");
  CHECK(print("  {%+ if true %} y{% endif +%}\nz") == "   y\nz");
  CHECK(print("a \n {%- if true -%} \n b \n {%- endif %}\n c") == "ab c");
  CHECK(print("a {{- 'b' -}} c") == "abc");
  CHECK(print("  {{ 'b' }}\n c") == "  b\n c");
  CHECK(print("a\n  {# no #}\nb {#- no -#} c") == "a\nbc");
  CHECK(print("\xE3\x80\x80{{- 1 -}}\xE3\x80\x80.") == "1.");
  CHECK(print("{ a } {") == "{ a } {");
}

TEST_CASE("strings have Python's escapes, and stand side by side as one") {
  CHECK(print(R"({{ 'a\n\t\'\\' "\x41\u4f60" 'b' }})") ==
        "a\n\t'\\A\xE4\xBD\xA0"
        "b");
  CHECK(print(R"({{ '\d{{}}%}' }})") == R"(\d{{}}%})");
}

TEST_CASE("operators bind as in Jinja") {
  CHECK(print("{{ 1 + 2 * 3 - -4 }} {{ (1 + 2) * 3 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }}") == "11 9 3 -4 2 -2");
  CHECK(print("{{ 'a' ~ 1 ~ none ~ true }} {{ 'ab' * 3 }} {{ ([1] + [2]) | length }}") == "a1NoneTrue ababab 2");
  CHECK(print("{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 'a' in 'cab' }} {{ 3 not in [1, 2] }} {{ not 1 == 2 }}") == "True False True True True");
  CHECK(print("{{ 0 or 'x' }} {{ 1 and 'y' }} {{ '' and z }}|{{ 'a' if false else 'b' }}{{ 'a' if false }}") == "x y |b");
  CHECK(print("{{ true == 1 }} {{ '1' == 1 }} {{ [1, 'a'] == [1, 'a'] }} {{ {'a': 1} == {'a': 1} }}") == "True False True True");
  CHECK(print("{{ -2 | string }} {{ 'a' + 'b' | upper }} {{ 2 is even and 3 is odd }} {{ 2 is not odd }}") == "-2 aB True True");
  CHECK(print("{{ [1, 2, 3][-1] }}{{ [1, 2, 3][1:] | length }}{{ 'abc'[::-1] }}{{ 'abc'[:-1] }}{{ (1, 2)[0] }}{{ [1, 2, 3][::-1][0] }}") ==
        "32cbaab13");
  CHECK(print("{{ messages[1].content[-1] }}{{ messages[1]['content'][5:] | length }}") ==
        "\xE5\xA5\xBD"
        "2");
}

TEST_CASE("statements: if, for with its variable, set, namespace, macro") {
  CHECK(print("{% if 0 %}a{% elif [] %}b{% elif 1 %}c{% else %}d{% endif %}") == "c");
  CHECK(print("{% for m in messages %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }} "
              "{% endfor %}") == "10TrueFalse22 21FalseTrue21 ");
  CHECK(print("{% for m in messages %}{{ loop.previtem.role if loop.previtem is defined }}>{{ loop.nextitem.role if loop.nextitem is "
              "defined }} {% endfor %}") == ">assistant user> ");
  CHECK(print("{% for k, v in {'a': 1, 'b': 2}.items() if v > 1 %}{{ k }}{{ v }}{{ loop.length }}{% else %}none{% endfor %}") == "b21");
  CHECK(print("{% for x in [] %}{% else %}empty{% endfor %}{% for x in undefined_thing %}{% endfor %}") == "empty");
  CHECK(print("{% for x in range(9) %}{% if x == 1 %}{% continue %}{% endif %}{% if x == 3 %}{% break %}{% endif %}{{ x }}{% endfor %}") ==
        "02");
  CHECK(print("{% set x = 1 %}{% for y in [1, 2] %}{% set x = x + y %}{{ x }}{% endfor %}{{ x }}") == "231");
  CHECK(print("{% set n = namespace(a=1) %}{% for y in [1, 2] %}{% set n.a = n.a + y %}{% endfor %}{{ n.a }}") == "4");
  CHECK(print("{% set a, b = 1, 'x' %}{{ b }}{{ a }}{% set c %}<{{ a }}>{% endset %}{{ c | length }}") == "x13");
  CHECK(print("{% macro f(a, b='!') %}{{ a }}{{ b }}{% endmacro %}{{ f('x') }}{{ f('y', b='?') }}{{ f() }}") == "x!y?!");
  CHECK(print("{% generation %}a{% endgeneration %}") == "a");
}

TEST_CASE("filters, tests and methods are Python's and Jinja's") {
  CHECK(print("[{{ messages[0].content | trim }}] [{{ messages[0].content.lstrip() }}] [{{ 'xxaxx'.strip('x') }}]") == "[Hi] [Hi \n] [a]");
  CHECK(print("{{ 'a,b,,c'.split(',') | length }}{{ ' a  b '.split() | join('-') }}{{ 'a-b-c'.split('-', 1)[1] }}{{ "
              "'a</t>b'.split('</t>')[-1] }}") == "4a-bb-cb");
  CHECK(print("{{ 'abc'.startswith('ab') }}{{ 'abc'.endswith('b') }}{{ 'aXbX' | replace('X', '..') }}{{ 'ab cd' | title }}{{ 'aB'.lower() "
              "}}") == "TrueFalsea..b..Ab Cdab");
  CHECK(print("{{ nothing is defined }} {{ none is none }} {{ 'a' is string }} {{ {} is mapping }} {{ [] is iterable }} {{ true is boolean "
              "}}") == "False True True True True True");
  CHECK(
      print(
          "{{ nothing }}|{{ nothing | default('d') }}|{{ '' | default('d', true) }}|{{ {'a': 1}.get('b') }}|{{ {'a': 1}.get('a', 2) }}") ==
      "|d|d|None|1");
  CHECK(print("{{ messages | selectattr('role', 'equalto', 'user') | list | length }}{{ messages | map(attribute='role') | join(',') }}") ==
        "1user,assistant");
  CHECK(print("{{ messages | rejectattr('role', '==', 'user') | first | length }}") == "2");
}

TEST_CASE("tojson writes as Python does") {
  CHECK(print(R"({{ {'a': [1, true, none, "q\"\n\x01\u4f60"], 'b': {}} | tojson }})") ==
        "{\"a\": [1, true, null, \"q\\\"\\n\\u0001\xE4\xBD\xA0\"], \"b\": {}}");
}

TEST_CASE("strftime_now writes the date it is given") {
  const auto at = [](std::int64_t seconds, const std::string& format) {
    return llm::ChatTemplate("{{ strftime_now('" + format + "') }}").write({}, "", "", {.unix_time = seconds}).text;
  };
  CHECK(at(0, "%d %b %Y %H:%M:%S %A %y") == "01 Jan 1970 00:00:00 Thursday 70");
  CHECK(at(1721955599, "%d %B %Y") == "26 July 2024");
  CHECK(at(951782400, "%Y-%m-%d %a") == "2000-02-29 Tue");
  CHECK(at(-1, "%Y-%m-%d %H") == "1969-12-31 23");
  CHECK(at(4107542400, "%-d.%-m.%Y %%") == "1.3.2100 %");
  CHECK(refusal("{{ strftime_now('%Q') }}").find("'%Q' has a letter that is not known") != std::string::npos);
}

TEST_CASE("what is no template, and what is not known, is refused with the line and the name") {
  CHECK_THAT(refusal("a\n{% if x %}"), says("line 2: the template ends before {% endif %}"));
  CHECK_THAT(refusal("{% endif %}"), says("the statement 'endif' is not known"));
  CHECK_THAT(refusal("{% include 'x' %}"), says("line 1: the statement 'include' is not known (known: if, for"));
  CHECK_THAT(refusal("{{ 'a' "), says("a tag has no end"));
  CHECK_THAT(refusal("{{ 'a }}"), says("a string has no end"));
  CHECK_THAT(refusal("{# a"), says("a comment has no end"));
  CHECK_THAT(refusal("{{ ) }}"), says("unexpected ')'"));
  CHECK_THAT(refusal("{{ 1.5 }}"), says("numbers other than integers"));
  CHECK_THAT(refusal("{{ 2 ** 3 }}"), says("powers are not known"));
  CHECK_THAT(refusal("{{ a b }}"), says("expected the end of {{ ... }}, found 'b'"));
  CHECK_THAT(refusal("{{ 'a' | frobnicate }}"), says("the filter 'frobnicate' is not known"));
  CHECK_THAT(refusal("{{ 'a' is frobnicated }}"), says("the test 'frobnicated' is not known"));
  CHECK_THAT(refusal("{{ 'a'.frobnicate() }}"), says("a text has no 'frobnicate' to call"));
  CHECK_THAT(refusal("{{ frobnicate() }}"), says("'frobnicate' cannot be called"));
  CHECK_THAT(refusal("{{ nothing.x }}"), says("'x' of something that is undefined"));
  CHECK_THAT(refusal("{{ 1 + 'a' }}"), says("'+' of an integer and a text"));
  CHECK_THAT(refusal("{{ [1] }}"), says("a list cannot be printed"));
  CHECK_THAT(refusal("{{ 1 // 0 }}"), says("a division by zero"));
  CHECK_THAT(refusal("{{ raise_exception('no ' ~ 1) }}"), says("the template refuses these messages: no 1"));
  CHECK_THAT(refusal("{{ '\xE9' }}"), says("is not valid UTF-8 at byte 4"));
  CHECK_THAT(refusal("{{ '\xC3\xA9' | upper }}"), says("'upper' of letters beyond ASCII"));
}

TEST_CASE("a template that was made to be costly is refused soon") {
  const std::string loop = "{% for a in range(100000) %}";
  CHECK_THAT(refusal(loop + loop + loop + "x{% endfor %}{% endfor %}{% endfor %}"), says("makes too much of these messages"));
  CHECK_THAT(refusal("{{ 'x' * 2000000000 }}"), says("makes too much"));
  CHECK_THAT(refusal("{% set n = namespace(a='xxxxxxxx') %}{% for a in range(99) %}{% set n.a = n.a + n.a %}{% endfor %}"),
             says("makes too much"));
  CHECK_THAT(refusal("{{ range(2000000000) | length }}"), says("a list of more than 262144 elements"));
  CHECK_THAT(refusal("{{ ('a' * 300000) | list | length }}"), says("a list of more than"));
  CHECK_THAT(refusal("{{ (' a' * 300000).split() | length }}"), says("a list of more than"));
  CHECK_THAT(refusal("{{ (' a' * 300000).split('a') | length }}"), says("a list of more than"));
  CHECK_THAT(refusal("{% set n = namespace(a=[1]) %}{% for a in range(99) %}{% set n.a = n.a + n.a %}{% endfor %}"),
             says("a list of more than"));
  CHECK_THAT(refusal("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), says("nested too deeply"));
  CHECK_THAT(refusal("{{ " + std::string(1900, '(') + "1" + std::string(1900, ')') + " }}"), says("nested too deeply"));
  CHECK_THAT(refusal("{{ " + std::string(3000, '-') + "1 }}"), says("nested too deeply"));
  std::string sum = "{{ 1";
  for (int i = 0; i < 1500; ++i) sum += "+1";
  CHECK_THAT(refusal(sum + " }}"), says("nested too deeply"));
  for (int i = 0; i < 1500; ++i) sum += "+1";
  CHECK_THAT(refusal(sum + " }}"), says("a tag is too long"));
  std::string nested;
  for (int i = 0; i < 5000; ++i) nested += "{% if 1 %}";
  CHECK_THAT(refusal(nested), says("nested too deeply"));
  CHECK_THAT(refusal("{{ 9223372036854775807 + 1 }}"), says("too large"));
  CHECK_THAT(refusal("{{ 99999999999999999999 }}"), says("numbers other than integers"));
  CHECK_THAT(refusal(std::string(2'000'000, 'x')), says("too many for a template"));
}

TEST_CASE("values are not nested without end, and none holds itself") {
  const std::string ns = "{% set ns = namespace(x=[]) %}", many = "{% for i in range(7000) %}";
  std::string deeper;
  for (int i = 0; i < 40; ++i) deeper += "{% set ns.x = [ns.x] %}";
  CHECK_THAT(refusal(ns + many + deeper + "{% endfor %}done"), says("nested too deeply"));
  CHECK_THAT(refusal(ns + many + "{% set ns.x = {'a': [ns.x]} %}{% endfor %}{{ ns.x | tojson }}"), says("nested too deeply"));
  CHECK(print(ns + "{% for i in range(99) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x | tojson | length }}{{ ns.x == ns.x }}") ==
        "200True");
  const std::string two_of_them = "{% set a = namespace(x=1) %}{% set b = namespace(x=1) %}";
  CHECK(print(two_of_them + "{{ a == b }}{{ a == a }}{{ a.x == b.x }}") == "FalseTrueTrue");
  CHECK_THAT(refusal(two_of_them + "{% set a.x = a %}{% set b.x = b %}{{ a == b }}"), says("a namespace inside another value"));
  CHECK_THAT(refusal(two_of_them + "{% set a.x = {'a': a} %}{{ a.x == a.x }}"), says("a namespace inside another value"));
  CHECK_THAT(refusal(two_of_them + "{{ [a] | length }}"), says("a namespace inside another value"));
  CHECK_THAT(refusal(two_of_them + "{% set c = namespace(x=a) %}"), says("a namespace inside another value"));
}

TEST_CASE("operations of a template pay for what they read and make") {
  const auto costly = says("makes too much of these messages");
  const std::string long_text = "{% set t = 'x' * 5000000 %}", rounds = "{% for i in range(60000) %}", end = "{% endfor %}";
  const std::string texts = long_text + "{% set ns = namespace(l=[t]) %}{% for i in range(18) %}{% set ns.l = ns.l + ns.l %}{% endfor %}";
  CHECK_THAT(refusal(texts + "{{ ns.l | join }}"), costly);
  CHECK_THAT(refusal(texts + "{{ ns.l | join('-') | length }}"), costly);
  CHECK_THAT(refusal(texts + "{{ ns.l | tojson }}"), costly);
  CHECK_THAT(refusal(texts + "{{ ns.l | map('upper') | length }}"), costly);
  CHECK_THAT(refusal(long_text + "{{ t | replace('x', 'x' * 1000000) | length }}"), costly);
  CHECK_THAT(refusal(long_text + "{{ t | tojson | tojson | tojson | tojson | tojson }}"), costly);
  const std::string shared =
      "{% set ns = namespace(a=[1], b=[1]) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}{% endfor "
      "%}";
  CHECK_THAT(refusal(shared + "{{ ns.a == ns.b }}"), costly);
  CHECK_THAT(refusal(shared + "{{ ns.a | tojson | length }}"), costly);
  CHECK_THAT(refusal(shared + "{{ ns.a in [ns.b] }}{{ ns.a is equalto ns.b }}"), costly);
  const std::string list = "{% set l = range(200000) %}" + rounds;
  for (const char* use : {"-1 in l", "-1 is in l", "l | list", "l | select('equalto', 0) | list", "l | map('int')", "l[:-1]", "l[::-1]",
                          "l + []", "l == range(200000) or 1", "l | reverse"}) {
    CAPTURE(use);
    CHECK_THAT(refusal(list + "{% if " + use + " %}{% endif %}" + end), costly);
  }
  CHECK(print("{% set l = range(200000) %}{% for i in range(1000) %}{% if l | first == l | last %}{% endif %}{% endfor %}x") == "x");
  const std::string text = "{% set t = 'x' * 8000000 %}" + rounds;
  for (const char* use : {"t[0]", "t[-1]", "t[:2]", "t | length", "'b' in t", "t.find('b')", "t.split('b')", "t.split()",
                          "t | replace('b', '')", "t | lower", "t.strip('x')", "t == t ~ ''", "t < t ~ ''", "t.endswith(t)"}) {
    CAPTURE(use);
    CHECK_THAT(refusal(text + "{% if " + use + " %}{% endif %}" + end), costly);
  }
  // The worst case of a search.
  CHECK_THAT(refusal("{% set t = 'x' * 8000000 %}{{ ('x' * 1000000 ~ 'y') in t }}"), costly);
}

TEST_CASE("a template has some thousands of variables at most, and long names of what is undefined are paid for") {
  const auto variables = [](int count, const std::string& before) {
    std::string text = "{%set n=namespace()%}";
    for (int i = 0; i < count; ++i) text += "{%set " + before + std::to_string(i) + "=1%}";
    return text + ".";
  };
  for (const std::string before : {"a", "n.a"}) {
    CHECK(print(variables(4'000, before)) == ".");
    CHECK_THAT(refusal(variables(7'000, before)), says("the template is too long: more than 32768 words and symbols"));
  }
  const std::string name(500'000, 'a');
  CHECK(print("{% set x = {} %}{% for i in range(50000) %}{% set y = x." + name + " %}{% endfor %}.") == ".");
  CHECK(print("{% set n = namespace(l=range(100000) | map(attribute='" + name + "') | list) %}{{ n.l | length }}") == "100000");
}

TEST_CASE("arguments that nothing takes are refused, as by Jinja") {
  CHECK_THAT(refusal("{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b='1') }}"), says("'f' has no argument 'b'"));
  CHECK_THAT(refusal("{% macro f(a) %}{{ a }}{% endmacro %}{{ f('1', a='1') }}"), says("'f' has no argument 'a' left to give"));
  CHECK_THAT(refusal("{{ namespace(1) }}"), says("'namespace' has arguments without a name"));
  CHECK_THAT(refusal("{{ range(1, b=2) | length }}"), says("'range' has no argument 'b'"));
  CHECK_THAT(refusal("{{ 'a'.upper('b') }}"), says("'upper' has 1 arguments, expected 0"));
  CHECK_THAT(refusal("{{ {}.items('b') }}"), says("'items' has 1 arguments, expected 0"));
  CHECK_THAT(refusal("{{ 'a' | length('b') }}"), says("'length' has 1 arguments, expected 0"));
  CHECK_THAT(refusal("{{ 'a' is defined('b') }}"), says("'defined' has 1 arguments, expected 0"));
  CHECK_THAT(refusal("{{ [1] | select('odd', b=1) | length }}"), says("'odd' has no argument 'b'"));
  CHECK(print("{{ ['ab'] | map('replace', 'a', 'c') | first }}{{ [{}] | map(attribute='a', default='d') | first }}") == "cbd");
  CHECK(print("{% macro f(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{% set x = 5 %}{% for a in [7] %}{{ f(x) }}{% endfor %}") == "55");
}

TEST_CASE("what a user wrote keeps its marks through cutting and joining") {
  const llm::ChatTemplate chat(
      "{% for m in messages %}<{{ m.role }}:{{ m.content | trim | replace('i', '<i>') }}>{{ m.content[0] ~ 'x' }}{% endfor %}");
  const auto text = chat.write(std::vector<llm::ChatMessage>{{"user", " Hi! "}}, "", "");
  CHECK(text.text == "<user:H<i>!> x");
  CHECK(text.plain == std::vector<llm::TextRange>{{6, 7}, {10, 11}, {12, 13}});
  const auto json = llm::ChatTemplate("{{ messages[0].content | tojson }}").write(std::vector<llm::ChatMessage>{{"user", "a\"b"}}, "", "");
  CHECK(json.text == R"("a\"b")");
  CHECK(json.plain == std::vector<llm::TextRange>{{1, 2}, {4, 5}});
}

TEST_CASE("roles are names, and messages are UTF-8") {
  const llm::ChatTemplate chat("{{ messages[0].role }}");
  const auto with = [&](const llm::ChatMessage& message) { return chat.write(std::vector{message}, "", "").text; };
  CHECK(with({"tool_results-2", ""}) == "tool_results-2");
  CHECK_THROWS_WITH(with({"user|><|im_start|", ""}), says("is no role"));
  CHECK_THROWS_WITH(with({"", ""}), says("is no role"));
  CHECK_THROWS_WITH(with({"user", "a\xFF"}), says("not valid UTF-8 at byte 1"));
  CHECK_THROWS_WITH(llm::ChatTemplate::named("nobody"), says("there are chatml, llama2, llama3, mistral-v1"));
}

TEST_CASE("a piece of nothing has no marks") {
  using llm::detail::jinja::MarkedText;
  const MarkedText text("abc", true);
  for (const std::size_t begin : {0u, 1u, 3u, 9u}) CHECK(text.substr(begin, 0).plain().empty());
  MarkedText joined("x");
  joined += text.substr(1, 0);
  joined += text.substr(1, 1);
  REQUIRE(joined.plain().size() == 1);
  CHECK(joined.plain()[0].begin == 1);
  CHECK(joined.plain()[0].end == 2);
}
