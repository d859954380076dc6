package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// completeVerb is how the scripts for shells ask what a word may become:
// `pawl __complete WORD...` with the words after the program's name, the last of
// which is the one to complete and may be empty. Each line of the answer is a
// candidate, a tab and what it means; :file and :dir stand for the files and the
// folders that the shell knows. It is not a command of cli, since what
// follows may be flags, or nothing that makes sense yet.
const completeVerb = "__complete"

// The values of the tag `complete` of a flag or argument. An enum needs none.
const (
	completeRun  = "run"
	completeFile = "file"
	completeDir  = "dir"
)

// mostRuns is how many runs are offered: those that come first in a list.
const mostRuns = 50

// completer finds what the last of the words may become.
type completer struct {
	ctx  context.Context
	g    *Globals
	out  io.Writer
	node *kong.Node
	args int        // arguments of the command so far
	of   *kong.Flag // whose value comes next
	bare bool       // after --, where nothing is a flag
}

// complete writes what the last word may become. It fails silently: who has
// pressed a key is not to be told of errors.
func complete(ctx context.Context, g *Globals, app *kong.Application, words []string, out io.Writer) {
	if len(words) == 0 {
		words = []string{""}
	}
	c := &completer{ctx: ctx, g: g, out: out, node: app.Node}
	for _, flag := range app.Flags { // nothing has been parsed
		if flag.Name == "data" {
			g.Data = cmp.Or(os.Getenv(flag.Envs[0]), flag.Default)
		}
	}
	last := len(words) - 1
	for _, word := range words[:last] {
		c.read(word)
	}
	c.offer(words[last])
}

// read takes a word that is there already.
func (c *completer) read(word string) {
	switch {
	case c.of != nil:
		c.value(word)
	case word == "--":
		c.bare = true
	case !c.bare && strings.HasPrefix(word, "-"):
		name, value, joined := strings.Cut(word, "=")
		if c.of = c.flag(name); c.of != nil && (joined || c.of.IsBool()) {
			c.value(value)
		}
	case c.child(word) != nil:
		c.node = c.child(word)
	default:
		c.args++
	}
}

func (c *completer) value(word string) {
	if c.of.Name == "data" {
		c.g.Data = word
	}
	c.of = nil
}

func (c *completer) flag(name string) *kong.Flag {
	for _, flag := range c.flags() {
		if name == "--"+flag.Name {
			return flag
		}
	}
	return nil
}

func (c *completer) flags() (flags []*kong.Flag) {
	for _, group := range c.node.AllFlags(true) {
		flags = append(flags, group...)
	}
	return flags
}

func (c *completer) child(name string) *kong.Node {
	for _, child := range c.node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// offer writes the candidates that begin with word.
func (c *completer) offer(word string) {
	name, value, joined := strings.Cut(word, "=")
	switch {
	case c.of != nil:
		c.values(c.of.Value, "", word)
	case !c.bare && joined && c.flag(name) != nil:
		c.values(c.flag(name).Value, name+"=", value)
	case !c.bare && strings.HasPrefix(word, "-"):
		for _, flag := range c.flags() {
			c.candidate("--"+flag.Name, flag.Help, word)
		}
	case len(c.node.Children) > 0:
		for _, child := range c.node.Children {
			if !child.Hidden {
				c.candidate(child.Name, child.Help, word)
			}
		}
	case c.args < len(c.node.Positional):
		c.values(c.node.Positional[c.args], "", word)
	}
}

// values offers the values of a flag or an argument, each after prefix.
func (c *completer) values(v *kong.Value, prefix, word string) {
	if v.Enum != "" {
		for _, value := range v.EnumSlice() {
			c.candidate(prefix+value, "", prefix+word)
		}
		return
	}
	switch v.Tag.Get("complete") {
	case completeRun:
		c.runs(word)
	case completeFile, completeDir:
		fmt.Fprintln(c.out, ":"+v.Tag.Get("complete"))
	}
}

func (c *completer) candidate(text, means, word string) {
	if text != "" && strings.HasPrefix(text, word) {
		fmt.Fprintf(c.out, "%s\t%s\n", text, strings.ReplaceAll(plain(means), "\n", " "))
	}
}

// runs offers runs. A store that another process has open is left
// alone, and nobody waits for it.
func (c *completer) runs(word string) {
	if !c.g.exists() {
		return
	}
	k, err := c.g.open(c.ctx, pawl.Options{})
	if err != nil {
		return
	}
	defer k.close(&err)
	c.candidate("@last", "the newest run", word)
	page, err := k.list(c.ctx, &pawl.Query{Limit: mostRuns})
	if err != nil {
		return
	}
	for i := range page.Items {
		run := &page.Items[i]
		c.candidate(run.ExternalID, fmt.Sprintf("%s  %s", painter(false).state(run.State), run.Title), word)
	}
}
