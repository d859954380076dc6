package kv

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// mapping is a file that Badger has mapped into memory.
type mapping struct {
	path       string
	start, end uintptr
	residentKB int
	dirtyKB    int
}

// mappings returns what is mapped of the files in dir, which must be absolute
// and without symbolic links.
func mappings(dir string) ([]mapping, error) {
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return nil, err
	}
	var out []mapping
	ours := false
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		switch {
		case len(fields) >= 5 && strings.Contains(fields[0], "-"):
			m := mapping{path: strings.Join(fields[5:], " ")}
			if ours = filepath.Dir(m.path) == dir; !ours {
				continue
			}
			if _, err := fmt.Sscanf(fields[0], "%x-%x", &m.start, &m.end); err != nil {
				return nil, fmt.Errorf("read smaps: %w", err)
			}
			out = append(out, m)
		case !ours || len(fields) < 2:
		case fields[0] == "Rss:":
			out[len(out)-1].residentKB, _ = strconv.Atoi(fields[1])
		case fields[0] == "Private_Dirty:" || fields[0] == "Shared_Dirty:":
			kb, _ := strconv.Atoi(fields[1])
			out[len(out)-1].dirtyKB += kb
		}
	}
	return out, nil
}

// adviseOut is MADV_PAGEOUT. Unlike MADV_DONTNEED it never loses what a page
// holds, so it does no harm if Badger has unmapped the table meanwhile and the
// addresses belong to somebody else.
const adviseOut = 21

// trimTables gives the pages of the tables in dir back to the kernel if more
// than limitKB of them are in memory.
func trimTables(dir string, limitKB int) error {
	all, err := mappings(dir)
	if err != nil {
		return err
	}
	resident := 0
	for _, m := range all {
		if filepath.Ext(m.path) == ".sst" {
			resident += m.residentKB
		}
	}
	if resident <= limitKB {
		return nil
	}
	for _, m := range all {
		if filepath.Ext(m.path) != ".sst" {
			continue
		}
		// The result does not matter: it is advice.
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, adviseOut)
	}
	return nil
}
