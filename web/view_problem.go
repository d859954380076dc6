package web

import pawl "github.com/pawl-dev/pawl/runtime"

// problemView is the page of an error.
type problemView struct {
	Title, Detail, Hint, Code string
	Status                    int
	Run                       string // a link; empty for none
	Differences               []pawl.Difference
	Errors                    []inputProblem
}

func newProblemView(p *problem) *problemView {
	v := &problemView{
		Title: problemTitle(p), Detail: p.Detail, Hint: p.Hint, Code: p.Code, Status: p.Status, Differences: p.Differences, Errors: p.Errors,
	}
	if p.Run != "" {
		v.Run = runPath(p.Run)
	}
	return v
}

// problemTitle says in words what happened, where the status's name would not.
func problemTitle(p *problem) string {
	switch p.Code {
	case "not_found":
		return "There is nothing here"
	case "denied":
		return "Not allowed"
	case "form_expired":
		return "This page is too old"
	case "stale":
		return "Changed meanwhile"
	case "already_running":
		return "It is already running"
	case "internal":
		return "Something went wrong here"
	}
	return p.Title
}
