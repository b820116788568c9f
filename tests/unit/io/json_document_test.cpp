// Small JSON files as trees: what is kept, and the limits.
#include <llm/io/json_document.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <support/catch.hpp>

static nlohmann::json parse(std::string_view text, const llm::detail::JsonLimits& limits = {}) {
  constexpr std::string_view skipped[] = {"skip", "drop"};
  const std::vector<char> copy(text.begin(), text.end());  // on the heap, so that a sanitizer sees any read past the end
  return llm::detail::parse_json_object(std::as_bytes(std::span(copy)), "test: f.json", {.skipped = skipped, .limits = limits});
}

/// The error's text, "" when the text is accepted.
static std::string refusal(std::string_view text, const llm::detail::JsonLimits& limits = {}) {
  try {
    parse(text, limits);
    return "";
  } catch (const llm::FileError& error) {
    const std::string what = error.what();
    return what.starts_with("test: f.json: ") ? what : "does not begin with the file: " + what;
  }
}

static auto says(const std::string& text) { return Catch::Contains(text); }

TEST_CASE("a JSON object is kept with all its values") {
  const std::string text = R"({"a":[1,-2,2.5,true,null,"x",[],{}],"b":{"c":{"d":[[3]]},"e":18446744073709551615},"f":"\u00e9"})";
  CHECK(parse(text) == nlohmann::json::parse(text));
  CHECK(parse("{}") == nlohmann::json::object());
  CHECK(parse(" { \"a\" : 1 } ") == nlohmann::json({{"a", 1}}));
}

TEST_CASE("values under the keys to skip are null, in the top object alone") {
  const auto json = parse(R"({"skip":{"a":[1,{"b":2}],"skip":3},"a":{"skip":4},"drop":5,"z":[6]})");
  CHECK(json == nlohmann::json::parse(R"({"skip":null,"a":{"skip":4},"drop":null,"z":[6]})"));
  CHECK(parse(R"({"a":1,"skip":[[],{}]})") == nlohmann::json::parse(R"({"a":1,"skip":null})"));
  CHECK_THAT(refusal(R"({"skip":[1,}])"), says("is not valid JSON"));
  CHECK_THAT(refusal(R"({"skip":1,"skip":2})"), says("field 'skip' occurs twice"));
}

TEST_CASE("a key that occurs twice in an object is refused") {
  CHECK_THAT(refusal(R"({"a":1,"b":2,"a":1})"), says("field 'a' occurs twice"));
  CHECK_THAT(refusal(R"({"x":{"a":1,"a":2}})"), says("field 'a' occurs twice"));
  CHECK(refusal(R"({"a":{"a":[{"a":1},{"a":1}]}})") == "");
}

TEST_CASE("what is no JSON object is refused") {
  for (const char* text : {"", " ", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{\"a\":1}{}", "{\"a\":01}", "{\"a\":\"\xff\"}",
                           "{\"a\":NaN}", "{\"a\":Infinity}", "{/**/}", "{\"a\":\"\n\"}"}) {
    CAPTURE(text);
    CHECK_THAT(refusal(text), says("is not valid JSON"));
  }
  for (const char* text : {"1", "null", "\"a\"", "[]", "[{}]", "true"}) CHECK_THAT(refusal(text), says("is not a JSON object"));
  CHECK_THAT(refusal(R"({"a":1e999})"), says("field 'a' has a number beyond the range of double"));
  CHECK_THAT(refusal(R"({"a":-1e999})"), says("field 'a' has a number beyond the range of double"));
}

TEST_CASE("the limits hold exactly") {
  const std::string text = R"({"a":[1,2,{"b":3}]})";  // 6 values, 3 levels
  CHECK(refusal(text, {.bytes = text.size(), .depth = 3, .values = 6}) == "");
  CHECK_THAT(refusal(text, {.bytes = text.size() - 1}), says("is 19 bytes long, more than the limit of 18"));
  CHECK_THAT(refusal(text, {.depth = 2}), says("field 'a' is nested deeper than 2 levels"));
  CHECK_THAT(refusal(text, {.values = 5}), says("has more than 5 values"));
  CHECK_THAT(refusal(R"({"skip":[[1]]})", {.depth = 2}), says("nested deeper than 2 levels"));
  CHECK(refusal(R"({"skip":[1,2,3,4]})", {.values = 2}) == "");
  CHECK_THAT(refusal("{\"a\":\"" + std::string(2'000'000, 'x') + "\"}"), says("a name, value or gap is longer than 1 MiB"));
}

TEST_CASE("the elements of a list are given away one by one, and the limits hold for each alone") {
  const auto read = [](std::string_view text, std::string_view key, const llm::detail::JsonLimits& limits = {}) {
    std::string given;
    const llm::detail::JsonList list{key, [&](const nlohmann::json& element, const std::string& place, const std::string& name) {
                                       given += place + "=" + name + element.dump() + " ";
                                     }};
    const auto rest = llm::detail::parse_json_object(std::as_bytes(std::span(text)), "test: f.json", {.limits = limits, .list = list});
    return given + rest.dump();
  };
  CHECK(read(R"({"a":1,"l":[1,{"l":[2]},[[3]],"x"],"z":[4]})", "l") ==
        R"(l[0]=1 l[1]={"l":[2]} l[2]=[[3]] l[3]="x" {"a":1,"l":[],"z":[4]})");
  CHECK(read(R"({"l":{"p":1,"q":{"l":2},"p":[]},"m":{"l":[5]}})", "l") == R"(l.p=p1 l.q=q{"l":2} l.p=p[] {"l":{},"m":{"l":[5]}})");
  CHECK(read(R"({"l":5})", "l") == R"({"l":5})");
  CHECK(read(R"({"p":1,"q":[{"r":2}]})", "") == R"(p=p1 q=q[{"r":2}] {})");
  CHECK(read(R"({"l":[[1],[2],[3],[4],[5]]})", "l", {.values = 4}) == "l[0]=[1] l[1]=[2] l[2]=[3] l[3]=[4] l[4]=[5] {\"l\":[]}");
  CHECK_THROWS_WITH(read(R"({"l":[[1],[2,3,4]]})", "l", {.values = 4}), says("has more than 4 values"));
  CHECK_THROWS_WITH(read(R"({"l":[1],"l":[2]})", "l"), says("field 'l' occurs twice"));
  CHECK_THROWS_WITH(read(R"({"l":[{"a":1,"a":2}]})", "l"), says("field 'a' occurs twice"));
}
