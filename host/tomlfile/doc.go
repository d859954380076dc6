// Package tomlfile reads the TOML files that people write for Pawl and says
// exactly what is wrong with them: file, line, column, and what was probably
// meant. It is for the readers of workflow.toml and tools.toml; embedders and
// authors of steps do not need it. It is the only importer of go-toml.
package tomlfile
