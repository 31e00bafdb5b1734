/* A native operator in C: counts words.
 *
 * With inputs it counts the words of all of them; without, those of the file whose path is the payload. Output 0 is the
 * number as text and a newline, as `wc -w` would write it.
 *
 *     cc -shared -fPIC -I client/include -o libword_count.so examples/operators/word_count.c
 *     penstock run job.toml --operators ./libword_count.so
 */
#include <penstock/operator.h>
#include <stdio.h>
#include <string.h>

enum { kPathMax = 4096, kPieceBytes = 65536 };

struct counter {
  uint64_t words;
  int inside; /* The last byte was part of a word, which may go on in the next piece. */
};

static int is_blank(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void count(struct counter* counter, const unsigned char* bytes, uint64_t size) {
  for (uint64_t i = 0; i < size; ++i) {
    const int blank = is_blank(bytes[i]);
    if (!blank && !counter->inside) ++counter->words;
    counter->inside = !blank;
  }
}

static int count_file(penstock_call* call, struct counter* counter) {
  char path[kPathMax];
  unsigned char piece[kPieceBytes];
  const penstock_view* from = call->payload.bytes > 0 ? &call->payload : &call->template_payload;
  if (from->bytes == 0 || from->bytes >= kPathMax)
    return call->fail(call, "word_count needs inputs, or a path as payload");
  memcpy(path, from->data, from->bytes);
  path[from->bytes] = 0;
  FILE* file = fopen(path, "rb");
  if (file == NULL) return call->fail(call, "the file of the payload cannot be read");
  size_t size = 0;
  /* A cancelled subtask gives its slot back between two pieces. */
  while (!call->cancelled(call) && (size = fread(piece, 1, sizeof piece, file)) > 0) count(counter, piece, size);
  const int failed = ferror(file);
  fclose(file);
  return failed ? call->fail(call, "the file of the payload could not be read to its end") : 0;
}

static int word_count(penstock_call* call) {
  struct counter counter = {0, 0};
  for (uint64_t i = 0; i < call->input_count; ++i) {
    counter.inside = 0; /* No word spans two inputs. */
    count(&counter, (const unsigned char*)call->inputs[i].data, call->inputs[i].bytes);
  }
  if (call->input_count == 0 && count_file(call, &counter) != 0) return 1;
  char text[32];
  const int length = snprintf(text, sizeof text, "%llu\n", (unsigned long long)counter.words);
  void* output = call->output(call, 0, (uint64_t)length);
  if (output == NULL) return call->fail(call, "there is no memory for the output");
  memcpy(output, text, (size_t)length);
  return 0;
}

static const penstock_operator operators[] = {{"word_count", word_count}};
static const penstock_operator_table table = {PENSTOCK_OPERATOR_ABI, 1, operators};

const penstock_operator_table* penstock_operators(void) { return &table; }
