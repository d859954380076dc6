package main

import (
	"errors"
	"os"

	"github.com/pawl-dev/pawl/runtime/crashtest"
)

// writeJUnit writes a report as JUnit's XML into a file.
func writeJUnit(path string, report *crashtest.Report) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(report.JUnit(file), file.Close())
}
