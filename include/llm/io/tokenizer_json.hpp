// Reads tokenizer.json, as Hugging Face publishes it, into a tokenizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/core/error.hpp>
#include <llm/detail/os_file.hpp>
#include <llm/io/hf_config_fields.hpp>
#include <llm/io/json_text.hpp>
#include <llm/io/mapped_file.hpp>
#include <llm/io/tokenizer_json_events.hpp>
#include <llm/io/tokenizer_json_steps.hpp>
#include <llm/text/bpe/bpe_tokenizer.hpp>

namespace llm {

namespace detail::tokenizer_json {

/// The first reading: tokens.
struct TakeTokens {
  Vocabulary& vocabulary;
  void token(std::string_view spelling, std::int64_t id) { vocabulary.add(id, spelling); }
  void merge(std::string_view, std::string_view) {}
};

/// Merges as ids of tokens that are known.
struct MergeIds {
  const Vocabulary& vocabulary;

  struct Ids {
    std::int32_t left, right, both;
  };
  Ids of(std::string_view left, std::string_view right) const {
    return {id_of(left), id_of(right), id_of(std::string(left) + std::string(right))};
  }
  std::int32_t id_of(std::string_view token) const {
    const auto id = vocabulary.find(token);
    if (!id) throw ValueError(concat("the token ", in_quotes(token), " is not in model.vocab"));
    return *id;
  }
};

/// The second reading, which knows the tokens: are the merges good? So vocabulary and merges may stand in either order.
struct CheckMerges {
  MergeIds ids;
  void token(std::string_view, std::int64_t) {}
  void merge(std::string_view left, std::string_view right) { ids.of(left, right); }
};

/// The third reading: merges, straight into the table, which is the largest part and made of what is known to be good.
struct TakeMerges {
  MergeIds ids;
  bpe::MergeTable table;
  std::uint32_t rank = 0;
  void token(std::string_view, std::int64_t) {}
  void merge(std::string_view left, std::string_view right) {
    const MergeIds::Ids found = ids.of(left, right);
    table.insert(found.left, found.right, {rank++, found.both});
  }
};

/// One file. `release` lets pages of a mapping go that have been read.
class File {
 public:
  File(std::span<const std::byte> bytes, std::string where, ReleasePages release)
      : bytes_(bytes), where_(std::move(where)), release_(release) {
    if (bytes.size() > max_bytes) throw FileError(concat(where_, ": is ", bytes.size(), " bytes long, more than the limit of ", max_bytes));
  }

  /// `complete` may change the parts before what is large is made of them.
  BpeParts parts(const std::function<void(BpeParts&)>& complete) {
    BpeParts parts;
    TakeTokens tokens{parts.vocabulary};
    const JsonList added{"added_tokens", [&](const Json& token, const std::string& place, const std::string&) {
                           add_token(parts.added, Fields::of_element(token, where_, place));
                         }};
    const Json json = parse(tokens, {.limits = tree_limits, .list = added});
    Fields file(json, where_);
    Fields model = file.object("model");
    if (const std::string type = model.text("type", "BPE"); type != "BPE") model.refuse("type", "'BPE'");
    if (!complete_) file.fail("model has not both 'vocab', an object, and 'merges', an array");
    refuse_unsupported(model);
    ReadPreTokenizer pre = read_pre_tokenizer(file);
    parts.pre_tokenizer = std::move(pre.pre_tokenizer);
    parts.normalizer = read_normalizer(file);
    parts.decoder = read_decoder(file);
    const RankedOptions options = read_options(model, parts.vocabulary, pre.byte_level);
    if (file.has("added_tokens")) file.array("added_tokens");  // whose elements have been taken
    if (file.has("post_processor")) read_template(file.object("post_processor"), parts);
    if (parts.before.size() == 1) parts.bos_id = parts.before.front();
    if (complete) complete(parts);
    try {
      BpeTokenizer::validate(parts);
    } catch (const ValueError& error) {
      file.fail(error.what());
    }
    constexpr std::string_view taken[] = {"added_tokens"};
    CheckMerges check{{parts.vocabulary}};
    parse(check, {.skipped = taken, .limits = tree_limits});
    TakeMerges merges{{parts.vocabulary}, bpe::MergeTable(merges_)};
    parse(merges, {.skipped = taken, .limits = tree_limits});
    parts.model = RankedModel(parts.vocabulary, std::move(merges.table), options);
    return parts;
  }

 private:
  template <class Visitor>
  Json parse(Visitor& visitor, const JsonOptions& options) {
    JsonText text(where_, "file", bytes_, release_);
    Events<Visitor> events(text, visitor, options);
    Json::sax_parse(text.begin(), text.end(), &events);
    merges_ = events.merges();
    complete_ = events.has_vocabulary() && events.has_merges();
    return std::move(events.root());
  }

  /// What would change the ids and is not done here.
  static void refuse_unsupported(Fields& model) {
    if (model.has("dropout") && model.not_negative("dropout") > 0) model.refuse("dropout", "null: merging at random is not supported");
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!model.text(affix, "").empty()) model.refuse(affix, "null: it is not supported");
  }

  static RankedOptions read_options(Fields& model, const Vocabulary& vocabulary, bool byte_level) {
    RankedOptions options{.byte_level = byte_level,
                          .ignore_merges = model.flag("ignore_merges", false),
                          .byte_fallback = model.flag("byte_fallback", false),
                          .fuse_unknown = model.flag("fuse_unk", false)};
    if (!model.has("unk_token")) return options;
    options.unknown_id = vocabulary.find(model.text("unk_token", ""));
    if (!options.unknown_id) model.refuse("unk_token", "a token of model.vocab");
    return options;
  }

  static void add_token(AddedTokenList& tokens, Fields fields) {
    const std::string content = fields.text("content", "");
    AddedToken token = flags_of(fields);
    token.id = static_cast<std::int32_t>(fields.count("id", 0));
    token.content = content;
    token.normalized = fields.flag("normalized", !token.special);
    push_back(tokens, token, fields);
  }

  /// The tokens around a text. Processors of a sequence put theirs around those of the ones before.
  static void read_template(Fields post, BpeParts& parts) {
    for_each_step(std::move(post), "processors", [&](Fields& fields, std::string_view type) {
      if (type == "ByteLevel") return;  // changes offsets alone
      if (type != "TemplateProcessing") refuse_type(fields, "Sequence, TemplateProcessing, ByteLevel");
      std::vector<std::int32_t> before, after;
      bool seen = false;
      const Json& pieces = fields.array("single");
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        Fields piece = fields.element("single", i);
        if (piece.has("Sequence")) {
          if (seen || piece.object("Sequence").text("id", "") != "A") fields.fail_at("single", "has not the text, 'A', exactly once");
          seen = true;
        } else {
          const auto ids = ids_of(fields, piece.object("SpecialToken").text("id", ""));
          (seen ? after : before).insert((seen ? after : before).end(), ids.begin(), ids.end());
        }
      }
      if (!seen) fields.fail_at("single", "has not the text, 'A', exactly once");
      parts.before.insert(parts.before.begin(), before.begin(), before.end());
      parts.after.insert(parts.after.end(), after.begin(), after.end());
    });
  }
  static std::vector<std::int32_t> ids_of(Fields& fields, const std::string& name) {
    Fields token = fields.object("special_tokens").object(name);
    std::vector<std::int32_t> ids;
    for (const Json& id : token.array("ids")) {
      if (!id.is_number_integer() || id.get<std::int64_t>() < 0 || id.get<std::int64_t>() >= Vocabulary::max_ids)
        token.refuse("ids", "an array of ids");
      ids.push_back(id.get<std::int32_t>());
    }
    return ids;
  }

  std::span<const std::byte> bytes_;
  std::string where_;
  ReleasePages release_;
  std::size_t merges_ = 0;  // of the last reading
  bool complete_ = false;
};

}  // namespace detail::tokenizer_json

/// The parts of a tokenizer.json that lies in memory; `source` names it in errors. Its lengths of truncation and padding are ignored.
/// Throws FileError, naming file, field and value, for text that is no JSON object or too large, for tokens, merges and ids that contradict
/// each other, and for every kind of model, normaliser, pre-tokenizer, processor and decoder that is not known.
/// `complete` may change the parts before what is large is made of them.
inline BpeParts parse_tokenizer_json(std::span<const std::byte> bytes, const std::string& source,
                                     const std::function<void(BpeParts&)>& complete = {}, detail::ReleasePages release = nullptr) {
  return detail::tokenizer_json::File(bytes, detail::concat("llm::read_tokenizer_json: ", source), release).parts(complete);
}

/// The same of a file. Throws FileError also when it cannot be read.
inline BpeParts read_tokenizer_json(const std::string& path, const std::function<void(BpeParts&)>& complete = {}) {
  const MappedFile file = MappedFile::open_to_read_once(path);
  return parse_tokenizer_json(file.bytes(), path, complete, detail::os::release_pages);
}

}  // namespace llm
