package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/httptool"
	"github.com/pawl-dev/pawl/host/toolfile"
	"github.com/pawl-dev/pawl/runtime/crashtest/fakes/standin"
)

// declared is a tool as the tools file describes it.
type declared struct {
	id       string
	contract host.Contract
	config   httptool.Config
}

// declarations reads a tools file, whole, for what it says.
func declarations(path string) (map[string]*declared, error) {
	all := map[string]*declared{}
	kind := func(id string, decode func(dst any) (host.Contract, error), secrets map[string]host.Secret) (host.Tool, error) {
		d := &declared{id: id}
		c, err := decode(&d.config)
		if err != nil {
			return nil, err
		}
		tool, err := httptool.New(id, c, &d.config, secrets)
		if err != nil {
			return nil, err
		}
		d.contract = tool.Contract()
		all[id] = d
		return tool, nil
	}
	_, err := toolfile.Load(path, map[string]toolfile.Kind{"http": kind})
	return all, err
}

// The most that a tool may take where others stand in for its receiver: they
// are near, and a row waits for a time-out and a settle time.
const (
	mostTimeout    = 2 * time.Second
	mostSettle     = 200 * time.Millisecond
	mostBackoff    = 50 * time.Millisecond
	mostMaxBackoff = time.Second
)

// standIns is what stands in for the receivers of a workflow.
type standIns struct {
	plan standin.Plan
	// guessed are the tools whose answer nobody has told, unasked those whose own
	// verify query was replaced, shortened those that wait less than they say.
	guessed, unasked, shortened []string
}

// makeStandIns makes them of what the tools declare.
func makeStandIns(tools map[string]*declared, used []string, answers *answersFile) *standIns {
	s := &standIns{plan: standin.Plan{Tools: map[string]*standin.Tool{}}}
	for _, id := range used {
		d := tools[id]
		t := &standin.Tool{
			Writes: d.contract.Effect != host.Read, Keyed: d.contract.Effect == host.Keyed, Path: pathOf(d.config.URL),
			Header: d.config.Key.Header, Pointer: d.config.Key.JSON, Query: d.config.Key.Query,
		}
		if t.Pointer == "" && t.Query == "" {
			t.Header = cmp.Or(t.Header, "Idempotency-Key")
		}
		answer, status, made := answers.answer(d)
		t.Status, t.Answer = status, mustJSON(answer)
		if made {
			s.guessed = append(s.guessed, id)
		}
		if d.config.Verify != nil {
			var own bool
			if t.Found, t.Absent, own = d.question(answers).replies(answers.Tool[id]); !own {
				s.unasked = append(s.unasked, id)
			}
		}
		if c := d.contract; c.Timeout > mostTimeout || c.Verifies && c.Settle > mostSettle {
			s.shortened = append(s.shortened, id)
		}
		s.plan.Tools[id] = t
	}
	return s
}

// pathOf is the path and query of an address.
func pathOf(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		return rest[i:]
	}
	return ""
}

// detour leads the tools of a file to another place: to what stands in for
// their receivers, or to somebody who watches on the way to them.
type detour struct {
	Addr string `json:"addr"`
	// StandIn says that nothing is behind it: secrets are not read, and nobody
	// waits long.
	StandIn bool `json:"stand_in"`
	// Unasked are the tools whose verify query is replaced.
	Unasked []string `json:"unasked,omitempty"`
}

// readDetour reads the file of a detour.
func readDetour(path string) (*detour, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d := new(detour)
	return d, json.Unmarshal(text, d)
}

// tools reads a tools file and leads its tools here.
func (d *detour) tools(path string) (*host.Registry, error) {
	return toolfile.Load(path, map[string]toolfile.Kind{"http": d.kind})
}

func (d *detour) kind(id string, decode func(dst any) (host.Contract, error), secrets map[string]host.Secret) (host.Tool, error) {
	var cfg httptool.Config
	c, err := decode(&cfg)
	if err != nil {
		return nil, err
	}
	cfg.URL = "http://" + d.Addr + standin.DoPrefix + id + pathOf(cfg.URL)
	cfg.Allow = []string{"private"}
	if cfg.Verify != nil {
		cfg.Verify = d.question(id, *cfg.Verify)
	}
	if d.StandIn {
		shorten(&c, &cfg)
		secrets = dummies(secrets)
	}
	return httptool.New(id, c, &cfg, secrets)
}

func (d *detour) question(id string, v httptool.Verify) *httptool.Verify {
	address := "http://" + d.Addr + standin.AskPrefix + id
	if slices.Contains(d.Unasked, id) {
		v.URL, v.Applied, v.Absent, v.Receipt = address, "response.found", "!response.found", "/answer"
	} else {
		v.URL = address + pathOf(v.URL)
	}
	if !d.StandIn {
		return &v
	}
	separator := "?"
	if strings.Contains(v.URL, "?") {
		separator = "&"
	}
	v.URL += separator + standin.KeyParameter + "={key}"
	return &v
}

func shorten(c *host.Contract, cfg *httptool.Config) {
	full := c.WithDefaults()
	c.Timeout = min(full.Timeout, mostTimeout)
	c.Backoff, c.MaxBackoff = min(full.Backoff, mostBackoff), min(full.MaxBackoff, mostMaxBackoff)
	if cfg.Verify == nil {
		return
	}
	settle, err := time.ParseDuration(cfg.Verify.Settle)
	if err != nil || settle > mostSettle {
		cfg.Verify.Settle = mostSettle.String()
	}
}

// dummies have the names of secrets and no other value.
func dummies(secrets map[string]host.Secret) map[string]host.Secret {
	out := maps.Clone(secrets)
	for name := range out {
		out[name] = host.Secret{Value: func(context.Context) (string, error) { return "dummy-" + name, nil }}
	}
	return out
}

// usedTools are the tools of the file that the workflow may call, and the name
// by which its steps call each.
func usedTools(all map[string][]string, tools map[string]*declared) (used []string, names map[string]string, err error) {
	names = map[string]string{}
	by := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if tools[id] == nil {
			continue // of the store itself, or missing: the clean run says so
		}
		other, taken := by[all[id][0]]
		if len(all[id]) > 1 || taken {
			return nil, nil, &problem{
				Code:    "two_names",
				Message: fmt.Sprintf("the steps call the tool %s by the names %s, and %s too: what a receiver is told by one could not be told from the other", id, strings.Join(all[id], ", "), cmp.Or(other, "no other")),
				Hint:    "let one name stand for one tool in the whole workflow.toml (use = ...)", Status: statusUsage,
			}
		}
		by[all[id][0]] = id
		used, names[id] = append(used, id), all[id][0]
	}
	return used, names, nil
}
