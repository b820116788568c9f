// Chat templates by name, for a model that comes without one.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace llm {

/// A template, and whose it is.
struct KnownChatTemplate {
  std::string_view name, models, source;
};

/// The common ones. They differ from what newer files carry in that they have no tools.
inline std::span<const KnownChatTemplate> known_chat_templates() {
  static constexpr std::array<KnownChatTemplate, 9> all{{
      {"chatml", "Qwen, SmolLM2, Yi and many more", R"({%- for message in messages -%}
{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif -%})"},
      {"llama2", "Llama 2", R"({%- set first = '' -%}
{%- set turns = messages -%}
{%- if messages and messages[0]['role'] == 'system' -%}
  {%- set turns = messages[1:] -%}
  {%- set first = '<<SYS>>\n' + messages[0]['content'] + '\n<</SYS>>\n\n' -%}
{%- endif -%}
{%- for message in turns -%}
  {%- if message['role'] != ('user' if loop.index0 % 2 == 0 else 'assistant') -%}
    {{- raise_exception('user and assistant must take turns') -}}
  {%- endif -%}
  {%- if message['role'] == 'user' -%}
    {{- bos_token + '[INST] ' + ((first if loop.first else '') + message['content']).strip() + ' [/INST]' -}}
  {%- else -%}
    {{- ' ' + message['content'].strip() + ' ' + eos_token -}}
  {%- endif -%}
{%- endfor -%})"},
      {"llama3", "Llama 3", R"({{- bos_token -}}
{%- for message in messages -%}
  {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' -}}{%- endif -%})"},
      {"mistral-v1", "Mistral 7B Instruct v0.1 and v0.2, Mixtral", R"({{- bos_token -}}
{%- set system = '' -%}
{%- set turns = messages -%}
{%- if messages and messages[0]['role'] == 'system' -%}
  {%- set turns = messages[1:] -%}
  {%- set system = messages[0]['content'] + '\n\n' -%}
{%- endif -%}
{%- for message in turns -%}
  {%- if message['role'] != ('user' if loop.index0 % 2 == 0 else 'assistant') -%}
    {{- raise_exception('user and assistant must take turns') -}}
  {%- endif -%}
  {%- if message['role'] == 'user' -%}
    {{- ' [INST] ' + (system if loop.first else '') + message['content'] + ' [/INST]' -}}
  {%- else -%}
    {{- ' ' + message['content'] + eos_token -}}
  {%- endif -%}
{%- endfor -%})"},
      {"mistral-v3", "Mistral 7B Instruct v0.3", R"({{- bos_token -}}
{%- set system = '' -%}
{%- set turns = messages -%}
{%- if messages and messages[0]['role'] == 'system' -%}
  {%- set turns = messages[1:] -%}
  {%- set system = messages[0]['content'] + '\n\n' -%}
{%- endif -%}
{%- for message in turns -%}
  {%- if message['role'] != ('user' if loop.index0 % 2 == 0 else 'assistant') -%}
    {{- raise_exception('user and assistant must take turns') -}}
  {%- endif -%}
  {%- if message['role'] == 'user' -%}
    {{- '[INST] ' + (system if loop.last else '') + message['content'] + '[/INST]' -}}
  {%- else -%}
    {{- ' ' + message['content'] + eos_token -}}
  {%- endif -%}
{%- endfor -%})"},
      {"mistral-v7", "Mistral Small 2501 and later", R"({{- bos_token -}}
{%- for message in messages -%}
  {%- if message['role'] == 'user' -%}
    {{- '[INST]' + message['content'] + '[/INST]' -}}
  {%- elif message['role'] == 'system' -%}
    {{- '[SYSTEM_PROMPT]' + message['content'] + '[/SYSTEM_PROMPT]' -}}
  {%- elif message['role'] == 'assistant' -%}
    {{- message['content'] + eos_token -}}
  {%- else -%}
    {{- raise_exception('roles are user, system and assistant') -}}
  {%- endif -%}
{%- endfor -%})"},
      {"gemma", "Gemma", R"({{- bos_token -}}
{%- set system = '' -%}
{%- set turns = messages -%}
{%- if messages and messages[0]['role'] == 'system' -%}
  {%- set turns = messages[1:] -%}
  {%- set system = messages[0]['content'] + '\n\n' -%}
{%- endif -%}
{%- for message in turns -%}
  {%- if message['role'] != ('user' if loop.index0 % 2 == 0 else 'assistant') -%}
    {{- raise_exception('user and assistant must take turns') -}}
  {%- endif -%}
  {{- '<start_of_turn>' + ('model' if message['role'] == 'assistant' else 'user') + '\n' + (system if loop.first else '') -}}
  {{- message['content'] | trim + '<end_of_turn>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<start_of_turn>model\n' -}}{%- endif -%})"},
      {"zephyr", "Zephyr, TinyLlama", R"({%- for message in messages -%}
  {{- '<|' + message['role'] + '|>\n' + message['content'] + eos_token + '\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|assistant|>\n' -}}{%- endif -%})"},
      {"plain", "a model that was trained on no chats", R"({%- for message in messages -%}
  {{- message['content'] + '\n' -}}
{%- endfor -%})"},
  }};
  return all;
}

}  // namespace llm
