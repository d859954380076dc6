package web

import (
	"context"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Engine is what the panel and the API ask of an engine; a *pawl.Engine is one.
type Engine interface {
	Find(ref string) (*pawl.Run, error)
	List(q *pawl.Query) (*pawl.Page, error)
	Watch(run string) (changed <-chan struct{}, stop func())
	Workflow(name string) (*pawl.Workflow, error)
	Workflows() ([]pawl.WorkflowDocument, error)
	Health() pawl.Health
	Recover(ctx context.Context) error
}

var _ Engine = (*pawl.Engine)(nil)
