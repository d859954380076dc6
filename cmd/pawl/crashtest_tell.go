package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/runtime/crashtest"
	"github.com/pawl-dev/pawl/runtime/crashtest/fakes/standin"
)

// tellUntested says what the matrix does not show.
func (t *crashTest) tellUntested(report *crashtest.Report) error {
	for _, sentence := range t.untested(report) {
		if t.g.JSON {
			t.g.notice("not_tested", "%s", sentence)
			continue
		}
		if _, err := fmt.Fprintln(t.g.stdout, plain(sentence)); err != nil {
			return err
		}
	}
	return nil
}

func (t *crashTest) untested(report *crashtest.Report) (sentences []string) {
	say := func(format string, args ...any) { sentences = append(sentences, fmt.Sprintf(format, args...)) }
	if report.LeftOut != "" {
		say("Left out: %s.", report.LeftOut)
	}
	if trouble := t.witness.trouble(); trouble != "" {
		say("The receivers were not always there: %s.", trouble)
	}
	if t.witness != nil {
		return append(sentences, t.witness.untested())
	}
	if len(t.used) > 0 {
		say("Not tested: whether the real receivers keep what %s declares of them. The fakes do.", t.tools)
	}
	if s := t.standIns; len(s.unasked) > 0 {
		say("Not tested: the verify query of %s, in whose place the fake was asked its own: no answer could be guessed that the expressions take. "+
			"Write applied and absent into %s.", strings.Join(s.unasked, ", "), t.answers.name)
	}
	if s := t.standIns; len(s.shortened) > 0 {
		say("Waited less than declared: %s, for at most %s, and %s for what settles.", strings.Join(s.shortened, ", "), mostTimeout, mostSettle)
	}
	return sentences
}

// failed says why there is no matrix. If answers were guessed, they may be the
// reason.
func (t *crashTest) failed(err error) error {
	p := &problem{
		Code: "no_matrix", Message: t.clear(strings.TrimPrefix(err.Error(), "crashtest: ")), Status: statusFailed,
		Hint: "the clean run must end by itself: try it with pawl run first",
	}
	switch trouble := t.witness.trouble(); {
	case trouble != "":
		p.Hint = trouble
		return p
	case strings.Contains(p.Message, "no such tool is registered"):
		p.Hint = "declare the tool in tools.toml beside the workflow, or name another file with --tools FILE"
		return p
	case t.command.Input == "" && strings.Contains(p.Message, "input"):
		p.Hint = "no --input FILE was given, so the input is null"
		return p
	}
	answers, last := t.given()
	if last == "" {
		return p
	}
	var hint strings.Builder
	fmt.Fprintf(&hint, "%s was answered last: %s\n", last, answers[last])
	if guessed := t.guessed(answers, last); len(guessed) > 0 {
		fmt.Fprintf(&hint, "That answer is made up. Say in %s what the tools answer, then repeat the command:\n", t.answers.name)
		if t.answers.file == nil {
			hint.WriteString("pawl = 1\n")
		}
		for _, id := range guessed {
			fmt.Fprintf(&hint, "[tool.%q]\nanswer = %s\n", id, tomlOf(t.standIns.plan.Tools[id].Answer))
		}
	}
	p.Hint = hint.String()
	return p
}

// guessed are the tools that were given a made-up answer, if the last one was.
func (t *crashTest) guessed(answers map[string]string, last string) (ids []string) {
	if !slices.Contains(t.standIns.guessed, last) {
		return nil
	}
	ids = []string{last} // the likeliest first
	for _, id := range t.standIns.guessed {
		if _, asked := answers[id]; asked && id != last {
			ids = append(ids, id)
		}
	}
	return ids
}

// given are the last answers that the fakes of the clean run gave, by tool,
// and the tool that was answered last.
func (t *crashTest) given() (answers map[string]string, last string) {
	f, err := os.Open(filepath.Join(ledgerDir(filepath.Join(t.dir, "clean")), standin.FileName))
	if err != nil {
		return nil, "" // there were none
	}
	defer f.Close()
	answers = map[string]string{}
	for d := json.NewDecoder(bufio.NewReader(f)); ; {
		var l standin.Line
		if err := d.Decode(&l); err != nil {
			return answers, last
		}
		if l.Kind == standin.KindAnswer && t.standIns.plan.Tools[l.Tool] != nil {
			answers[l.Tool], last = fmt.Sprintf("%d %s", l.Status, l.Answer), l.Tool
		}
	}
}

// tomlOf writes a JSON value as TOML has it, on one line.
func tomlOf(text json.RawMessage) string {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return "{}"
	}
	return tomlValue(v)
}

func tomlValue(v any) string {
	switch v := v.(type) {
	case map[string]any:
		parts := []string{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if v[k] != nil { // TOML has no null
				parts = append(parts, fmt.Sprintf("%q = %s", k, tomlValue(v[k])))
			}
		}
		if len(parts) == 0 {
			return "{}"
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case []any:
		parts := []string{}
		for _, e := range v {
			parts = append(parts, tomlValue(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return string(mustJSON(v))
}

// standInAddress is where a process of this program stands in for a tool, or
// watches it.
var standInAddress = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+(` + standin.DoPrefix + `|` + standin.AskPrefix + `)([a-z0-9_.-]+)`)

// clear puts the tools' own addresses into a text.
func (t *crashTest) clear(text string) string {
	return standInAddress.ReplaceAllStringFunc(text, func(found string) string {
		parts := standInAddress.FindStringSubmatch(found)
		d := t.declared[parts[2]]
		switch {
		case d == nil:
			return found
		case parts[1] == standin.AskPrefix && d.config.Verify != nil:
			return originOf(d.config.Verify.URL)
		}
		return originOf(d.config.URL)
	})
}
