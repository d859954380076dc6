package crashtest

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// suite is a report as JUnit's XML has tests.
type suite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     string      `xml:"time,attr"` // in seconds
	Cases    []suiteCase `xml:"testcase"`
}

type suiteCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *suiteFailure `xml:"failure,omitempty"`
	Out     string        `xml:"system-out,omitempty"`
}

type suiteFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the report as JUnit's XML: a test for each row, and a failed one
// for each lie.
func (r *Report) JUnit(w io.Writer) error {
	s := suite{Name: "crashtest", Time: fmt.Sprintf("%.3f", r.Took.Seconds())}
	for _, row := range r.Rows {
		c := suiteCase{Class: "crashtest", Name: row.Name, Time: fmt.Sprintf("%.3f", row.Took.Seconds())}
		if row.Waits != "" {
			c.Out = "the run waits for a person: " + row.Waits
		}
		s.add(c, row.Mismatches)
	}
	for _, l := range r.Lies {
		s.add(suiteCase{Class: "crashtest.contract", Name: l.Tool, Time: "0"}, []string{l.String()})
	}
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append([]byte(xml.Header), append(text, '\n')...))
	return err
}

func (s *suite) add(c suiteCase, wrong []string) {
	if len(wrong) > 0 {
		c.Failure = &suiteFailure{Message: wrong[0], Text: strings.Join(wrong, "\n")}
		s.Failures++
	}
	s.Cases = append(s.Cases, c)
	s.Tests++
}
