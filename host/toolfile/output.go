package toolfile

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
)

const (
	maxTail = 4 << 10 // bytes of a program's complaints that are looked at
	maxLine = 200     // bytes of them that are told
	minCut  = 4       // bytes of the shortest value that is cut out of them
)

// head keeps what is written, up to a limit.
type head struct {
	text  bytes.Buffer // not embedded: its ReadFrom knows no limit
	limit int
	full  func() // called when more is written
}

func (h *head) Write(p []byte) (int, error) {
	if h.text.Len()+len(p) > h.limit {
		h.full()
		return len(p), nil // the program is being killed
	}
	return h.text.Write(p)
}

// tail keeps the end of what is written.
type tail struct {
	text []byte
	more bool // something before it was dropped
}

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if extra := len(t.text) - maxTail; extra > 0 {
		t.text, t.more = slices.Clone(t.text[extra:]), true
	}
	return len(p), nil
}

// lastLine returns the last line with something in it; nothing of one whose
// beginning is lost, since that may have been in the middle of a secret.
func (t *tail) lastLine() string {
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	if len(lines) == 1 && t.more {
		return ""
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

// cutter takes the values of a file's secrets out of what programs complain. A
// program has the whole environment and may have read every file. Where an
// answer comes from outside, the tool looks for more forms of them.
type cutter struct{ secrets []known }

type known struct {
	mark  string
	value func() string
}

func (c *cutter) add(name string, value func() string) {
	c.secrets = append(c.secrets, known{"[secret " + name + "]", value})
}

// text returns a line for people, without the values and without what the
// program itself has printed.
func (c *cutter) text(line string, printed []string) string {
	if line == "" {
		return ""
	}
	marks := map[string]string{}
	for _, p := range printed {
		marks[strings.TrimSpace(p)] = "[its output]"
	}
	for _, s := range c.secrets {
		marks[strings.TrimSpace(s.value())] = s.mark // the space around it may be lost
	}
	values := make([]string, 0, len(marks))
	for v := range marks {
		if len(v) >= minCut {
			values = append(values, v)
		}
	}
	slices.SortFunc(values, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, v := range values {
		line = strings.ReplaceAll(line, v, marks[v])
	}
	line = strings.Map(printable, strings.ToValidUTF8(line, "?"))
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + "..."
	}
	return line
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return ' '
}
