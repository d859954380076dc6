package abi

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// MaxHead is the longest head of a frame in bytes. Heads hold names, codes and
// one message; whatever is large belongs into the body.
const MaxHead = 64 << 10

const lengthSize = 4

// FrameError says why bytes are not a frame, or why a head cannot become one.
type FrameError struct {
	// Reason is one sentence without a full stop.
	Reason string
	// Err is the cause, if there is one, such as an error of encoding/json.
	Err error
}

func (e *FrameError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("abi: bad frame: %s: %v", e.Reason, e.Err)
	}
	return "abi: bad frame: " + e.Reason
}

// Unwrap returns the cause.
func (e *FrameError) Unwrap() error { return e.Err }

// AppendFrame appends to dst the length of the head (32 bits, little endian),
// the head as a JSON object, and the body as it is. The error is a *FrameError;
// dst is then returned unchanged.
func AppendFrame(dst []byte, head any, body []byte) ([]byte, error) {
	text, err := json.Marshal(head)
	if err != nil {
		return dst, &FrameError{Reason: "the head cannot be written as JSON", Err: err}
	}
	if err := checkHead(text); err != nil {
		return dst, err
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(text)))
	dst = append(dst, text...)
	return append(dst, body...), nil
}

// SplitFrame reads the head of a frame into the value that head points to and
// returns the body, which aliases frame and may be empty. Fields of the head
// that the value does not have are ignored, so that either side may be the
// newer one. The error is a *FrameError; the value is then unspecified.
func SplitFrame(frame []byte, head any) (body []byte, err error) {
	if len(frame) < lengthSize {
		return nil, &FrameError{Reason: fmt.Sprintf("%d bytes, shorter than the %d of a head's length", len(frame), lengthSize)}
	}
	length := uint64(binary.LittleEndian.Uint32(frame))
	rest := frame[lengthSize:]
	if length > uint64(len(rest)) {
		return nil, &FrameError{Reason: fmt.Sprintf("the head should have %d bytes, but only %d follow", length, len(rest))}
	}
	text, body := rest[:length:length], rest[length:]
	if err := checkHead(text); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, head); err != nil {
		return nil, &FrameError{Reason: "the head cannot be read", Err: err}
	}
	return body, nil
}

func checkHead(text []byte) error {
	switch {
	case len(text) > MaxHead:
		return &FrameError{Reason: fmt.Sprintf("a head of %d bytes, more than %d", len(text), MaxHead)}
	case !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")):
		// In particular null, which encoding/json takes for any value.
		return &FrameError{Reason: "the head is not a JSON object"}
	case !utf8.Valid(text):
		return &FrameError{Reason: "the head is not UTF-8"}
	}
	return nil
}
