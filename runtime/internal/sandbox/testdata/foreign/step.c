// A step in C: sorts the bytes of its input with qsort, counts them, calls a
// tool with the counts, and puts out what came back.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMPORT(name) __attribute__((import_module("pawl_v1"), import_name(#name)))
IMPORT(call) uint64_t pawl_call(const char *tool, uint32_t tool_len, const char *request, uint32_t request_len);
IMPORT(take) int32_t pawl_take(char *to, uint32_t cap);
IMPORT(put) void pawl_put(uint32_t kind, const char *text, uint32_t len);

static int by_byte(const void *a, const void *b) { return *(const unsigned char *)a - *(const unsigned char *)b; }

static char *taken(uint32_t len) {
	char *b = malloc(len);
	pawl_take(b, len);
	return b;
}

static char *body(char *frame, uint32_t *len) {
	uint32_t head;
	memcpy(&head, frame, 4);
	*len -= 4 + head;
	return frame + 4 + head;
}

__attribute__((export_name("pawl_step"))) int32_t pawl_step(int32_t len) {
	uint32_t n = len;
	char *input = body(taken(n), &n);
	qsort(input, n, 1, by_byte);
	static char request[4096];
	const char head[] = "{\"type\":\"json\"}";
	uint32_t at = sizeof head - 1;
	memcpy(request, &at, 4);
	memcpy(request + 4, head, at);
	at += 4;
	request[at++] = '[';
	for (uint32_t i = 0; i < n;) {
		uint32_t run = i;
		while (run < n && input[run] == input[i]) run++;
		at += snprintf(request + at, sizeof request - at, "%s%u", i ? "," : "", run - i);
		i = run;
	}
	request[at++] = ']';
	uint64_t result = pawl_call("bytes.keep", 10, request, at);
	uint32_t size = (uint32_t)result;
	char *answer = body(taken(size), &size);
	pawl_put(0, answer, size);
	return 0;
}
