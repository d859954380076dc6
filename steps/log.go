package steps

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/host/abi"
)

// Log writes one line at level info; it appears under the step. The format is
// that of fmt.Sprintf. Lines are no part of the run's record: they are written
// again when the step is entered again.
func (s *Step) Log(format string, args ...any) {
	s.out.put(abi.PutInfo, fmt.Appendf(nil, format, args...))
}

// Logger returns a logger whose levels are kept: debug, info, warn, error. A
// line has no time of its own, since the step's clock is not the wall's.
func (s *Step) Logger() *slog.Logger { return s.logger }

func newLogger(o outside) *slog.Logger { return slog.New(&logHandler{out: o}) }

// logHandler writes "message key=value ..." through the sandbox.
type logHandler struct {
	out   outside
	attrs string // already written, each with a space before it
	group string // prefix of the keys to come, with its dots
}

func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	b.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		writeAttr(&b, h.group, a)
		return true
	})
	h.out.put(putKind(r.Level), []byte(b.String()))
	return nil
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	for _, a := range attrs {
		writeAttr(&b, h.group, a)
	}
	return &logHandler{out: h.out, attrs: h.attrs + b.String(), group: h.group}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &logHandler{out: h.out, attrs: h.attrs, group: h.group + name + "."}
}

func putKind(l slog.Level) abi.PutKind {
	switch {
	case l < slog.LevelInfo:
		return abi.PutDebug
	case l < slog.LevelWarn:
		return abi.PutInfo
	case l < slog.LevelError:
		return abi.PutWarn
	default:
		return abi.PutError
	}
}

func writeAttr(b *strings.Builder, group string, a slog.Attr) {
	v := a.Value.Resolve()
	if a.Key == "" && v.Kind() != slog.KindGroup {
		return
	}
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range v.Group() {
			writeAttr(b, group, inner)
		}
		return
	}
	text := v.String()
	if text == "" || strings.ContainsAny(text, " =\"\n\r\t") {
		text = strconv.Quote(text)
	}
	b.WriteString(" " + group + a.Key + "=" + text)
}
