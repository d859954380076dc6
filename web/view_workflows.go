package web

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// workflowsView is the page of workflows.
type workflowsView struct{ Workflows []workflowView }

// workflowView is a workflow with its versions, the last deployed first.
type workflowView struct {
	Name, Start, Runs string // Start and Runs are links
	Versions          []versionView
}

// versionView is a deployed version.
type versionView struct {
	ID, Version, Digest string
	Short               string // the digest, to tell versions of the same name apart
	Deployed            *moment
	Latest              bool
	Open                string
	Missing             []string
	Modules             []moduleView
	Steps               []pawl.StepDocument
	Limits              []factView
	Input               *bodyView
}

type moduleView struct {
	Name, Digest, Size string
	Imports            []string
}

func newWorkflowsView(documents []pawl.WorkflowDocument, now time.Time) *workflowsView {
	v := &workflowsView{}
	for i := range documents {
		d := &documents[i]
		if n := len(v.Workflows); n == 0 || v.Workflows[n-1].Name != d.Name {
			v.Workflows = append(v.Workflows, workflowView{
				Name: d.Name, Start: startPath(d.Name), Runs: address(url.Values{"workflow": {d.Name}}),
			})
		}
		w := &v.Workflows[len(v.Workflows)-1]
		w.Versions = append(w.Versions, newVersion(d, now))
	}
	return v
}

func startPath(workflow string) string { return "workflows/" + url.PathEscape(workflow) + "/start" }

func newVersion(d *pawl.WorkflowDocument, now time.Time) versionView {
	v := versionView{
		ID: "v-" + d.Digest, Version: d.Version, Digest: d.Digest, Short: cut(d.Digest, len("sha256:")+13), Deployed: at(d.Deployed, now), Latest: d.Latest,
		Open: counted(int64(d.OpenRuns), "open run"), Missing: d.Missing, Steps: d.Steps, Input: body(d.Input, ""),
	}
	for _, m := range d.Modules {
		v.Modules = append(v.Modules, moduleView{m.Name, m.Digest, bytesOf(m.Size), m.Imports})
	}
	for name, limit := range d.Limits {
		text := grouped(limit)
		if name == "active_ms" {
			name, text = "active time", lasted(time.Duration(limit)*time.Millisecond)
		}
		v.Limits = append(v.Limits, factView{words(name), text})
	}
	slices.SortFunc(v.Limits, func(a, b factView) int { return cmp.Compare(a.Name, b.Name) })
	return v
}
