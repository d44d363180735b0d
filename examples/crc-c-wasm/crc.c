/* Checksums, in C: bindings from wit-bindgen's generator, compiled by `zig cc` or clang, and nothing of a libc that
 * reaches outside. The component imports nothing.
 *
 * `cargo xtask examples crc-c-wasm` makes crc.wasm of it.
 */
#include <stdlib.h>
#include <string.h>

#include "pure_tool.h"

static const char SCHEMA[] =
    "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"],"
    "\"additionalProperties\":false}";

void exports_jackfield_extension_guest_describe(exports_jackfield_extension_guest_registration_t *ret) {
  memset(ret, 0, sizeof *ret);
  pure_tool_string_dup(&ret->name, "crc");
  pure_tool_string_dup(&ret->version, "1.0.0");
  pure_tool_string_dup(&ret->description, "Checksums of texts.");
  jackfield_extension_types_tool_spec_t *tool = calloc(1, sizeof *tool);
  pure_tool_string_dup(&tool->name, "crc32");
  pure_tool_string_dup(&tool->description, "The CRC-32 of a text, in hexadecimal.");
  pure_tool_string_dup(&tool->input_schema, SCHEMA);
  ret->tools.ptr = tool;
  ret->tools.len = 1;
}

static uint32_t crc32_add(uint32_t crc, uint8_t byte) {
  crc ^= byte;
  for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
  return crc;
}

static uint32_t add_char(uint32_t crc, uint32_t c) {
  if (c < 0x80) return crc32_add(crc, c);
  if (c < 0x800) return crc32_add(crc32_add(crc, 0xc0 | c >> 6), 0x80 | (c & 63));
  if (c < 0x10000) {
    crc = crc32_add(crc, 0xe0 | c >> 12);
  } else {
    crc = crc32_add(crc, 0xf0 | c >> 18);
    crc = crc32_add(crc, 0x80 | (c >> 12 & 63));
  }
  return crc32_add(crc32_add(crc, 0x80 | (c >> 6 & 63)), 0x80 | (c & 63));
}

/* Four hexadecimal digits; the host only sends JSON, so they are there. */
static uint32_t hex4(const uint8_t *at) {
  uint32_t value = 0;
  for (int i = 0; i < 4; i++) {
    uint8_t c = at[i];
    value = value << 4 | (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
  }
  return value;
}

/* The arguments are {"text":"…"}: the schema lets nothing else in, so the only string value is the text. */
static uint32_t crc_of_text(const uint8_t *json, size_t length) {
  uint32_t crc = 0xffffffffu;
  size_t at = 0;
  while (at < length && json[at] != ':') at++;
  while (at < length && json[at] != '"') at++;
  for (at++; at < length && json[at] != '"'; at++) {
    if (json[at] != '\\' || at + 1 >= length) {
      crc = crc32_add(crc, json[at]);
      continue;
    }
    uint8_t escape = json[++at];
    if (escape != 'u') {
      const char *known = strchr("b\bf\fn\nr\rt\t", escape);
      crc = crc32_add(crc, known ? known[1] : escape);
      continue;
    }
    if (at + 4 >= length) break;
    uint32_t c = hex4(json + at + 1);
    at += 4;
    if (c >= 0xd800 && c < 0xdc00 && at + 6 < length && json[at + 1] == '\\') {
      c = 0x10000 + ((c - 0xd800) << 10) + (hex4(json + at + 3) - 0xdc00);
      at += 6;
    }
    crc = add_char(crc, c);
  }
  return ~crc;
}

bool exports_jackfield_extension_guest_call_tool(exports_jackfield_extension_guest_call_context_t *context,
                                                 pure_tool_string_t *name, exports_jackfield_extension_guest_json_t *args,
                                                 exports_jackfield_extension_guest_tool_result_t *ret,
                                                 exports_jackfield_extension_guest_error_t *err) {
  uint32_t crc = crc_of_text(args->ptr, args->len);
  exports_jackfield_extension_guest_call_context_free(context);
  pure_tool_string_free(name);
  exports_jackfield_extension_guest_json_free(args);
  char text[9];
  for (int i = 0; i < 8; i++) text[i] = "0123456789abcdef"[crc >> (28 - 4 * i) & 15];
  text[8] = 0;
  memset(ret, 0, sizeof *ret);
  ret->content.ptr = calloc(1, sizeof *ret->content.ptr);
  ret->content.len = 1;
  ret->content.ptr->tag = JACKFIELD_EXTENSION_TYPES_CONTENT_TEXT;
  pure_tool_string_dup(&ret->content.ptr->val.text, text);
  (void)err;
  return true;
}
