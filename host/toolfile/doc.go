// Package toolfile reads tools.toml, in which an operator describes the tools
// that workflows may call and the secrets that those need. It is for programs
// that run workflows and are configured by a file; who builds the tools in Go
// gives them to host.NewRegistry and does not need it. It knows no kind of tool
// by itself: each [Kind] is given to [Load].
package toolfile
