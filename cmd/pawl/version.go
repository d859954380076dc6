package main

import (
	"fmt"
	"runtime/debug"

	goruntime "runtime"

	pawl "github.com/pawl-dev/pawl/runtime"
)

type versionCommand struct{}

// versionInfo is what decides which runs a program can go on with, and where it
// comes from.
type versionInfo struct {
	Version     string `json:"version"`
	Revision    string `json:"revision,omitempty"`
	Modified    bool   `json:"modified,omitempty"`
	ABI         int    `json:"abi"`
	Semantics   int    `json:"semantics"`
	StateFormat int    `json:"state_format"`
	Go          string `json:"go"`
	OS          string `json:"os"`
	Arch        string `json:"arch"`
}

func (v versionInfo) String() string {
	text := "pawl " + v.Version
	if v.Revision != "" {
		text += " (" + v.Revision + ")"
	}
	return text
}

func readVersion() versionInfo {
	p := pawl.Platform()
	v := versionInfo{
		Version: "unknown", ABI: p.ABI, Semantics: p.Semantics, StateFormat: p.StateFormat,
		Go: goruntime.Version(), OS: goruntime.GOOS, Arch: p.Arch,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// Run is the command.
func (*versionCommand) Run(g *Globals) error {
	v := readVersion()
	if g.JSON {
		return g.printJSON(v)
	}
	fmt.Fprintf(g.stdout, "pawl %s\n", v.Version)
	if v.Revision != "" {
		changed := ""
		if v.Modified {
			changed = " with changes"
		}
		fmt.Fprintf(g.stdout, "revision      %s%s\n", v.Revision, changed)
	}
	fmt.Fprintf(g.stdout, "abi           %d\nsemantics     %d\nstate format  %d\n", v.ABI, v.Semantics, v.StateFormat)
	fmt.Fprintf(g.stdout, "go            %s %s/%s\n", v.Go, v.OS, v.Arch)
	return nil
}
