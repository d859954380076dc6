package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"strings"
	"text/template"
)

// templates are the files of a new workflow. The example counter is one; a test
// compares them.
//
//go:embed template
var templates embed.FS

type newCommand struct {
	Dir  string `arg:"" name:"folder" complete:"dir" help:"The folder to make. Its name becomes the workflow's: [a-z][a-z0-9_]{0,63}."`
	Pawl string `help:"Clone of Pawl that the steps are built against. Defaults to the one that this program was built in." placeholder:"DIR" type:"path" complete:"dir"`
}

// goVersion is the least version of Go that the new module names.
const goVersion = "1.26.0"

var workflowName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// Run is the command.
func (c *newCommand) Run(_ context.Context, g *Globals) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return cannotMake(c.Dir, err)
	}
	name := filepath.Base(dir)
	if !workflowName.MatchString(name) {
		p := &problem{
			Code: "bad_name", Message: fmt.Sprintf("a workflow cannot be called %q: its name is [a-z][a-z0-9_]{0,63}", name),
			Hint: "choose another name for the folder", Status: statusUsage,
		}
		if better := suggestName(name); better != "" {
			p.Hint = "for example: pawl new " + filepath.Join(filepath.Dir(c.Dir), better)
		}
		return p
	}
	clone, err := c.clone(dir)
	if err != nil {
		return err
	}
	files, err := render(map[string]string{"Name": name, "Go": goVersion, "Pawl": clone})
	if err != nil {
		return err
	}
	if err := makeFolder(dir, files); err != nil {
		return cannotMake(c.Dir, err)
	}
	if g.JSON {
		return g.printJSON(map[string]string{"folder": dir, "workflow": name, "pawl": clone})
	}
	fmt.Fprintf(g.stdout, "%s is a workflow with one step. Run it:\n  cd %s\n  pawl run . --input input.json --id first\n", name, c.Dir)
	if _, err := exec.LookPath("pawl"); err != nil {
		fmt.Fprintf(g.stdout, "There is no pawl on your PATH yet: go install ./cmd/pawl, in the clone, puts it into the folder bin of go env GOPATH.\n")
	}
	return nil
}

// suggestName makes a name that is allowed, or none.
func suggestName(name string) string {
	name = regexp.MustCompile(`[^a-z0-9_]+`).ReplaceAllString(strings.ToLower(name), "_")
	if name = strings.TrimLeft(name, "_0123456789"); workflowName.MatchString(name) {
		return name
	}
	return ""
}

func cannotMake(dir string, err error) error {
	return &problem{
		Code: "not_made", Message: fmt.Sprintf("the folder %s was not made: %v", dir, err),
		Hint: "give a folder that does not exist yet, or is empty", Status: statusUsage,
	}
}

// clone is the path from the new folder to Pawl's sources. It is relative: an
// absolute one would be part of the digest of every module, which would then
// differ from one machine to the next.
func (c *newCommand) clone(dir string) (string, error) {
	clone := c.Pawl
	if clone == "" {
		clone = builtIn()
	}
	if !isClone(clone) {
		p := &problem{
			Code: "no_clone", Message: "it is not known where Pawl's sources are: this program was not built in a clone that is still there",
			Hint: "name the folder of your clone: pawl new " + c.Dir + " --pawl CLONE", Status: statusUsage,
		}
		if c.Pawl != "" {
			p.Message = fmt.Sprintf("%s is no clone of Pawl: it has no go.mod of the module %s", c.Pawl, modulePath)
		}
		return "", p
	}
	// A link on the way would make "..", which the go command takes literally,
	// lead elsewhere.
	from, err := resolved(dir)
	if err != nil {
		return "", cannotMake(c.Dir, err)
	}
	to, err := filepath.EvalSymlinks(clone)
	if err != nil {
		return "", cannotMake(c.Dir, err)
	}
	relative, err := filepath.Rel(from, to)
	if err != nil {
		return "", cannotMake(c.Dir, err)
	}
	relative = filepath.ToSlash(relative)
	if !strings.HasPrefix(relative, ".") {
		relative = "./" + relative
	}
	return relative, nil
}

// resolved follows links in a path whose end need not exist.
func resolved(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil || !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
		return real, err
	}
	parent, err := resolved(filepath.Dir(dir))
	return filepath.Join(parent, filepath.Base(dir)), err
}

// builtIn is the clone that this program was built in, as its debug information
// says; empty if that was left out.
func builtIn() string {
	_, file, _, ok := goruntime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return ""
	}
	return filepath.Join(filepath.Dir(file), "..", "..")
}

func isClone(dir string) bool {
	return dir != "" && moduleOf(filepath.Join(dir, "go.mod")) == modulePath
}

// render fills the templates in and returns the files by name.
func render(values map[string]string) (map[string]string, error) {
	all, err := template.New("").Option("missingkey=error").ParseFS(templates, "template/*.tmpl")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, t := range all.Templates() {
		name, ok := strings.CutSuffix(t.Name(), ".tmpl")
		if !ok {
			continue
		}
		if name == "gitignore" {
			name = ".gitignore"
		}
		var text strings.Builder
		if err := t.Execute(&text, values); err != nil {
			return nil, err
		}
		files[name] = text.String()
	}
	return files, nil
}

// makeFolder makes a folder with the files, whole or not at all.
func makeFolder(dir string, files map[string]string) (err error) {
	there, err := os.ReadDir(dir)
	made := errors.Is(err, fs.ErrNotExist)
	switch {
	case made:
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	case err != nil:
		return err
	case len(there) > 0:
		return fmt.Errorf("it is there and not empty (it has %s)", there[0].Name())
	}
	var written []string
	defer func() {
		if err == nil {
			return
		}
		for _, file := range written {
			err = errors.Join(err, os.Remove(file))
		}
		if made {
			err = errors.Join(err, os.Remove(dir))
		}
	}()
	for name, text := range files {
		path := filepath.Join(dir, name)
		written = append(written, path)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
