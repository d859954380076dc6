package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"

	"github.com/pawl-dev/pawl/runtime/crashtest"
)

// junitSuite is a crash matrix as JUnit's XML has tests.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     string      `xml:"time,attr"` // in seconds
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes a file with a test for each row and each lie.
func writeJUnit(path string, report *crashtest.Report, lies []lie) error {
	s := junitSuite{Name: "crashtest", Time: fmt.Sprintf("%.3f", report.Took.Seconds())}
	for _, r := range report.Rows {
		s.add(junitCase{Class: "crashtest", Name: r.Name, Time: fmt.Sprintf("%.3f", r.Took.Seconds())}, r.Mismatches)
	}
	for _, l := range lies {
		s.add(junitCase{Class: "crashtest.contract", Name: l.Tool, Time: "0"}, []string{l.sentence()})
	}
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte(xml.Header), append(text, '\n')...), 0o644)
}

func (s *junitSuite) add(c junitCase, wrong []string) {
	if len(wrong) > 0 {
		c.Failure = &junitFailure{Message: wrong[0], Text: strings.Join(wrong, "\n")}
		s.Failures++
	}
	s.Cases = append(s.Cases, c)
	s.Tests++
}
