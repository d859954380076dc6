package abi_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host/abi"
)

func TestFrameRoundTrip(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][]byte{"a body": []byte(`{"amount":1}`), "no body": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			head := abi.CallHead{Type: abi.TypeJSON, Key: "refund:ü<1>", Unknown: true}
			frame, err := abi.AppendFrame([]byte("before"), head, body)
			if err != nil {
				t.Fatal(err)
			}
			frame = bytes.TrimPrefix(frame, []byte("before"))
			var got abi.CallHead
			gotBody, err := abi.SplitFrame(frame, &got)
			if err != nil {
				t.Fatal(err)
			}
			if got != head || !bytes.Equal(gotBody, body) {
				t.Fatalf("got %+v %q, want %+v %q", got, gotBody, head, body)
			}
		})
	}
}

func TestFrameLayoutIsFixed(t *testing.T) {
	t.Parallel()
	frame, err := abi.AppendFrame(nil, abi.InputHead{Step: "send"}, []byte("x"))
	if want := "\x0f\x00\x00\x00{\"step\":\"send\"}x"; err != nil || string(frame) != want {
		t.Fatalf("got %q, %v, want %q", frame, err, want)
	}
}

// Seen red with the bound of the length left out.
func TestSplitFrameRefuses(t *testing.T) {
	t.Parallel()
	frame := func(length uint32, rest string) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, length), rest...)
	}
	long := `{"type":"` + strings.Repeat("x", abi.MaxHead) + `"}`
	for name, row := range map[string]struct {
		frame []byte
		want  string
	}{
		"nothing":                         {nil, "shorter than"},
		"a length that is cut off":        {[]byte{2, 0, 0}, "shorter than"},
		"a head longer than the frame":    {frame(3, "{}"), "only 2 follow"},
		"the largest length":              {frame(1<<32-1, "{}"), "only 2 follow"},
		"an empty head":                   {frame(0, "{}"), "not a JSON object"},
		"null":                            {frame(4, "null"), "not a JSON object"},
		"a list":                          {frame(2, "[]"), "not a JSON object"},
		"an object that breaks off":       {frame(1, "{}"), "cannot be read"},
		"two objects":                     {frame(4, "{}{}"), "cannot be read"},
		"a field of another type":         {frame(10, `{"type":1}`), "cannot be read"},
		"a head that is not UTF-8":        {frame(12, "{\"type\":\"\xff\"}"), "not UTF-8"},
		"a head over the limit":           {frame(uint32(len(long)), long), "more than"},
		"a head of blanks and no object ": {frame(2, "  "), "not a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var head abi.CallHead
			_, err := abi.SplitFrame(row.frame, &head)
			var frameErr *abi.FrameError
			if !errors.As(err, &frameErr) || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("got %v, want a FrameError with %q", err, row.want)
			}
		})
	}
}

func TestAppendFrameRefuses(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]any{
		"no object":        nil,
		"no JSON":          func() {},
		"a head too large": abi.ResultHead{Message: strings.Repeat("x", abi.MaxHead)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dst, err := abi.AppendFrame([]byte("before"), head, nil)
			var frameErr *abi.FrameError
			if !errors.As(err, &frameErr) || string(dst) != "before" {
				t.Fatalf("got %q, %v", dst, err)
			}
		})
	}
}

func FuzzSplitFrame(f *testing.F) {
	good, err := abi.AppendFrame(nil, abi.CallHead{Type: abi.TypeBytes}, []byte("body"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, '{', '}'})
	f.Fuzz(func(t *testing.T, frame []byte) {
		var head map[string]json.RawMessage
		body, err := abi.SplitFrame(frame, &head)
		if err != nil {
			var frameErr *abi.FrameError
			if !errors.As(err, &frameErr) {
				t.Fatalf("not a FrameError: %v", err)
			}
			return
		}
		length := int(binary.LittleEndian.Uint32(frame))
		if !bytes.Equal(body, frame[4+length:]) {
			t.Fatalf("body %q of %q", body, frame)
		}
		if !json.Valid(frame[4 : 4+length]) {
			t.Fatalf("took a head that is not JSON: %q", frame)
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ tool, code bool }{
		"":                      {false, false},
		"pay":                   {true, true},
		"http_503":              {true, true},
		"pay.refund-eu":         {true, false},
		"Pay":                   {false, false},
		"pay refund":            {false, false},
		"pay/refund":            {false, false},
		"bezahlén":              {false, false},
		"\x00":                  {false, false},
		strings.Repeat("a", 64): {true, true},
		strings.Repeat("a", 65): {false, false},
	} {
		if got := abi.ValidToolName(name); got != row.tool {
			t.Errorf("ValidToolName(%q) = %v", name, got)
		}
		if got := abi.ValidCode(name); got != row.code {
			t.Errorf("ValidCode(%q) = %v", name, got)
		}
	}
}
