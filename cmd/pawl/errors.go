package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/tomlfile"
	"github.com/pawl-dev/pawl/host/toolfile"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/steps/build"
)

// The exit statuses.
const (
	statusCompleted   = 0
	statusFailed      = 1 // failed, cancelled, or a check not passed
	statusUsage       = 2 // the command line or a file is wrong
	statusWaits       = 3 // for a person or a timer; the run is safe
	statusRefused     = 4 // incompatible, conflict, denied
	statusUnavailable = 5 // the store is locked or cannot be used
	statusInterrupted = 130
)

// exitStatus ends a command that has said already how it ended.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// problem is an error as people and programs are told of it.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Hint says what to do next.
	Hint string `json:"hint"`
	// Differences are those of an incompatible run.
	Differences []pawl.Difference `json:"differences,omitempty"`
	Status      int               `json:"-"`
}

func (p *problem) Error() string { return p.Message }

// report tells of the error, if there is one, and returns the exit status.
func report(g *Globals, err error) int {
	var status exitStatus
	switch {
	case err == nil:
		return statusCompleted
	case errors.As(err, &status):
		return int(status)
	}
	p := problemOf(err)
	if g.JSON {
		g.lineJSON("error", p)
		return p.Status
	}
	// Both may quote what a step, a receiver or a file says.
	fmt.Fprintf(g.stderr, "pawl: %s\n", plain(p.Message))
	for _, line := range strings.Split(plain(p.Hint), "\n") {
		if line != "" {
			fmt.Fprintf(g.stderr, "  %s\n", line)
		}
	}
	return p.Status
}

// rule says what to do about one kind of error. Those of the engine and its
// store are known by their code (pawl.CodeOf), others by what they are.
type rule struct {
	is     error // matched with errors.Is
	as     func(error) bool
	code   string
	status int
	hint   string
}

// rules is the one table of errors. The first that fits counts, so causes come
// before the places that wrap them.
var rules = []rule{
	{
		code: "store_locked", status: statusUnavailable,
		hint: "wait for that process or end it (its runs stay resumable), or use another directory with --data DIR",
	},
	{
		code: "undecodable", status: statusUnavailable,
		hint: "this run cannot be read, others can; keep the data directory as it is and restore it from a copy",
	},
	{
		as: is[*kv.DamageError], code: "corrupt", status: statusUnavailable,
		hint: "put a copy of the whole data directory in its place, or use another directory with --data DIR",
	},
	{
		code: "corrupt", status: statusUnavailable,
		hint: "the store is damaged at that key; keep the data directory as it is and restore it from a copy",
	},
	{
		code: "store_broken", status: statusUnavailable,
		hint: "a write failed and nothing was sent after it; look at the disk, then run the command again: it goes on from what is durable",
	},
	{
		code: "no_space", status: statusUnavailable,
		hint: "make space on the disk of the data directory, then run the command again: it goes on from what is durable",
	},
	{
		code: "store_unavailable", status: statusUnavailable,
		hint: "look at the disk, then run the command again: it goes on from what is durable",
	},
	{
		code: "held", status: statusWaits,
		hint: "pawl show and pawl runs work; go on with the directory that this one was copied from, or use another one with --data DIR",
	},
	{
		code: "fenced", status: statusRefused,
		hint: "another engine goes on with the run; pawl show says how it stands",
	},
	{
		code: "incompatible", status: statusRefused,
		hint: "the run goes on only with the contracts it was begun with; put them back, or start a new run under another id; nothing was executed",
	},
	{
		code: "input_conflict", status: statusRefused,
		hint: "give another --id for this input, or the same input and workflow to go on with that run",
	},
	{
		code: "stale", status: statusRefused,
		hint: "pawl show says how the run stands now; nothing was done",
	},
	{
		code: "already_running", status: statusRefused,
		hint: "it goes on by itself; pawl show says how it stands",
	},
	{
		code: "invalid_input", status: statusUsage,
		hint: "mend the input; nothing was stored",
	},
	{
		code: "too_large", status: statusUsage,
		hint: "make the workflow's tools, limits or labels fewer, or its texts shorter; nothing was stored",
	},
	{
		code: "not_found", status: statusUsage,
		hint: "pawl runs lists the runs of the data directory (--data DIR, PAWL_DATA)",
	},
	{
		code: "needs_decision", status: statusWaits,
		hint: "pawl show says what is not known and what each choice would do",
	},
	{
		code: "outcome_unknown", status: statusWaits,
		hint: "pawl show says which call it is; pawl resume asks its receiver again",
	},
	{
		code: "deterministic", status: statusFailed,
		hint: "mend the code and give its folder: pawl resume RUN DIR --upgrade; or start a new run with another input",
	},
	{
		code: "budget_spent", status: statusFailed,
		hint: "look at the last error (pawl show); only a recorded act of a person raises a budget",
	},
	{
		code: "failed", status: statusFailed,
		hint: "look at the last error (pawl show)",
	},
	{
		code: "interrupted", status: statusInterrupted,
		hint: "pawl resume goes on with it",
	},
	{
		as: is[*pawl.StepError], code: "step_failed", status: statusFailed,
		hint: "look at the last error (pawl show)",
	},
	{
		as: is[*tomlfile.Error], code: "invalid_file", status: statusUsage, // one or several
		hint: "mend the file at the places named",
	},
	{
		as: is[*host.ContractError], code: "invalid_tool", status: statusUsage,
		hint: "mend the tool's table in the tools file",
	},
	{
		is: toolfile.ErrNoFile, code: "no_tools", status: statusUsage,
		hint: "write a tools.toml beside the workflow, or name one with --tools FILE or PAWL_TOOLS",
	},
	{
		is: build.ErrNoGo, code: "no_go", status: statusUsage,
		hint: "install Go (https://go.dev/dl), or put the built .wasm file into the folder",
	},
	{
		as: goLacksCache, code: "go_unusable", status: statusUsage,
		hint: "go has no place to keep what it builds: set HOME, or GOCACHE and GOMODCACHE, to folders that can be written, then repeat the command",
	},
	{
		as: lacksModule, code: "no_go_module", status: statusUsage,
		hint: "the Go sources need a module that requires Pawl: go mod init example.com/steps, then the commands under \"Embedding\" in Pawl's README.md",
	},
	{
		as: blamesSources, code: "build_failed", status: statusUsage,
		hint: "mend the Go sources, then repeat the command",
	},
	{
		as: is[*build.CompileError], code: "build_failed", status: statusUsage,
		hint: "mend what go says, then repeat the command",
	},
	{
		is: build.ErrNotWasm, code: "invalid_module", status: statusUsage,
		hint: "build the module again (pawl build)",
	},
	{
		is: context.Canceled, code: "interrupted", status: statusInterrupted,
		hint: "repeat the command; what was begun is resumable",
	},
	{
		is: pawl.ErrClosed, code: "interrupted", status: statusInterrupted,
		hint: "repeat the command; what was begun is resumable",
	},
	{
		is: fs.ErrNotExist, code: "no_such_file", status: statusUsage,
		hint: "check the path",
	},
	{
		is: fs.ErrPermission, code: "permission", status: statusUsage,
		hint: "check the permissions of the path",
	},
}

// is reports whether the error is, or wraps, a T.
func is[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// What go prints tells whom it blames: mistakes in sources have their places.
var (
	sourcePlace = regexp.MustCompile(`\.go:\d+`)
	noModule    = regexp.MustCompile(`go\.mod file not found|cannot find main module|no required module provides package github\.com/pawl-dev/pawl`)
	cacheNamed  = regexp.MustCompile(`\b(build|module) cache\b`)
)

func blamesSources(err error) bool {
	var failed *build.CompileError
	return errors.As(err, &failed) && sourcePlace.MatchString(failed.Output)
}

func lacksModule(err error) bool {
	var failed *build.CompileError
	return errors.As(err, &failed) && noModule.MatchString(failed.Output)
}

func goLacksCache(err error) bool {
	var failed *build.CompileError
	return errors.As(err, &failed) && !blamesSources(err) && cacheNamed.MatchString(failed.Output)
}

// fits reports whether the rule is about the error, whose code, if it is the
// engine's, is given.
func (r *rule) fits(err error, code string) bool {
	switch {
	case r.is != nil:
		return errors.Is(err, r.is)
	case r.as != nil:
		return r.as(err)
	}
	return r.code == code
}

// problemOf finds the error in the table.
func problemOf(err error) *problem {
	var known *problem
	if errors.As(err, &known) {
		return known
	}
	var told *toldError
	if errors.As(err, &told) {
		return told.asProblem()
	}
	code := pawl.CodeOf(err)
	p := &problem{
		Code: cmp.Or(code, "internal"), Message: message(err), Status: statusFailed,
		Hint: "this should not happen; repeat the command, and report it with this message if it happens again",
	}
	for _, r := range rules {
		if r.fits(err, code) {
			p.Code, p.Hint, p.Status = r.code, r.hint, r.status
			break
		}
	}
	var step *pawl.StepError
	if errors.As(err, &step) && step.Hint != "" {
		p.Hint = step.Hint
	}
	var incompatible *pawl.IncompatibleError
	if errors.As(err, &incompatible) {
		p.Differences = incompatible.Differences
		p.Message = differences(incompatible)
	}
	return p
}

// named is the error with the run under the name that people gave it: they know
// no other.
func named(err error, name string) error {
	run := ""
	var step *pawl.StepError
	var incompatible *pawl.IncompatibleError
	switch {
	case errors.As(err, &step):
		run = step.Run
	case errors.As(err, &incompatible):
		run = incompatible.Run
	}
	if run == "" || name == "" {
		return err
	}
	p := *problemOf(err)
	p.Message = strings.ReplaceAll(p.Message, run, name)
	return &p
}

// otherwise makes a problem of an error that the table does not know: the
// caller knows what it was about.
func otherwise(err error, code, hint string, status int) error {
	if err == nil {
		return nil
	}
	if p := problemOf(err); p.Code == "internal" {
		return &problem{Code: code, Message: p.Message, Hint: hint, Status: status}
	}
	return err
}

// packages are the names that errors begin with.
var packages = []string{"pawl: ", "kv: ", "build: ", "toolfile: ", "host: ", "sandbox: "}

// message is the error's text without the names of packages in it.
func message(err error) string {
	text := err.Error()
	for _, name := range packages {
		text = strings.ReplaceAll(strings.TrimPrefix(text, name), ": "+name, ": ")
	}
	return text
}

// differences lists each difference on a line of its own.
func differences(e *pawl.IncompatibleError) string {
	text := "this program cannot begin the run"
	if e.Run != "" {
		text = "this program cannot go on with run " + e.Run
	}
	for _, d := range e.Differences {
		text += fmt.Sprintf("\n  %s: %s", d.Pin, d.What)
	}
	return text
}
