package kills_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing/fstest"
)

// The tools, by what their contracts promise.
const (
	look = "look" // read
	pay  = "pay"  // keyed, can be asked, charges cents
	post = "post" // keyed, cannot be asked, often has no time
	mail = "mail" // verify
	sms  = "sms"  // once
)

// plans are the workflows: the tools that each step calls. What a run does
// outside follows from its plan alone.
var plans = map[string][][]string{
	"paying":  {{look, pay}, {mail}, {pay, pay}},
	"mailing": {{mail, mail}, {look, mail}},
	"posting": {{post}, {look, post, mail}, {post, post}},
	"texting": {{pay}, {look, sms}, {mail}},
	"mixing":  {{look}, {mail, post, pay}, {}, {pay}},
}

// planNames are the workflows in order.
func planNames() []string { return slices.Sorted(maps.Keys(plans)) }

func stepName(i int) string { return string(rune('a' + i)) }

// act is one thing that a run does outside.
type act struct{ Step, Tool string }

// effectsOf are the effects of a run that completes, in order.
func effectsOf(plan string) (acts []act) {
	for i, tools := range plans[plan] {
		for _, tool := range tools {
			if tool != look {
				acts = append(acts, act{stepName(i), tool})
			}
		}
	}
	return acts
}

// folderOf is the workflow of a plan.
func folderOf(plan string) fstest.MapFS { return folder(plan, plans[plan]) }

func folder(name string, plan [][]string) fstest.MapFS {
	var s strings.Builder
	fmt.Fprintf(&s, "pawl = 1\n[workflow]\nname = %q\nversion = \"1\"\ninput = { type = \"object\" }\n[budget]\nrecoveries = 1000000\n", name)
	files := fstest.MapFS{}
	for i, tools := range plan {
		name := stepName(i)
		fmt.Fprintf(&s, "[[step]]\nname = %q\nmodule = %q\nwith = { run = \"input.run\", step = \"'%s'\" }\n", name, name+".wasm", name)
		fmt.Fprintf(&s, "tools = [%s]\n", quoted(tools))
		fmt.Fprintf(&s, "retry = { attempts = 1000, backoff = \"5ms\", max_backoff = \"20ms\" }\n")
		files[name+".wasm"] = &fstest.MapFile{Data: guest(tools...)}
	}
	files["workflow.toml"] = &fstest.MapFile{Data: []byte(s.String())}
	return files
}

// payingFolder is a workflow of two steps that call the same tool.
func payingFolder() fstest.MapFS { return folder("twice", [][]string{{pay}, {pay}}) }

func quoted(names []string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	for i, name := range names {
		names[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(names, ", ")
}

// toolsText is the operator's file for receivers at addr. A receiver may take
// its time for an effect, but not longer than settle after whoever asked for it
// is gone.
func toolsText(addr string) string {
	const common = `kind = "http"
allow = ["private"]
timeout = "1500ms"
headers = { Life = "{secret.life}" }
retry = { tries = %d, backoff = "5ms", max_backoff = "40ms" }
`
	var s strings.Builder
	fmt.Fprintf(&s, "pawl = 1\n[secret]\nlife = { env = %q, account = \"proof\" }\n", numberVariable)
	tool := func(name, class string, tries int, rest string) {
		fmt.Fprintf(&s, "[tool.%s]\neffect = %q\nurl = \"http://%s/%s\"\nmethod = \"POST\"\n"+common+"%s\n", name, class, addr, name, tries, rest)
	}
	asked := func(name string) string {
		return fmt.Sprintf(`[tool.%s.verify]
url = "http://%s/%s?key={key}"
settle = "500ms"
applied = "size(response.data) > 0"
absent = "size(response.data) == 0"
receipt = "/data/0"`, name, addr, name)
	}
	tool(look, "read", 30, "")
	tool(pay, "keyed", 30, "units = { cents = \"/cents\" }\n"+asked(pay))
	tool(post, "keyed", 3, "[tool.post.answer]\nnot_applied = [503]")
	tool(mail, "verify", 30, asked(mail))
	tool(sms, "once", 1, "")
	return s.String()
}
