// Package manifest reads a workflow's folder: workflow.toml, the JSON Schemas
// that it names, the expressions and templates in it. Everything is checked when
// it is loaded, so that a run never meets a mistake in its workflow. It is for
// package runtime alone.
package manifest
