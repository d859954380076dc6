package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// Open an engine on a directory, deploy a workflow, start a run of it and wait
// for its output. A second start with the same id and input is the same run.
func ExampleStart() {
	t := &exampleTB{}
	defer t.end()
	ctx := context.Background()

	greet := host.Func("keyed", func(_ context.Context, c *host.Call, req struct{ Name string }) (string, error) {
		fmt.Println("greeting", req.Name, "with a key of", len(c.Key.String()), "characters")
		return "hello " + req.Name, nil
	}, &host.FuncOptions{Contract: host.Contract{Effect: host.Keyed}})
	tools, err := host.NewRegistry(greet)
	if err != nil {
		panic(err)
	}

	store, err := kv.Open(t.TempDir(), nil)
	if err != nil {
		panic(err)
	}
	defer store.Close()
	engine, err := pawl.Open(ctx, store, &pawl.Options{Tools: tools})
	if err != nil {
		panic(err)
	}
	defer engine.Close()

	// os.DirFS of a workflow's folder, in a program.
	workflow, err := engine.Deploy(ctx, folder(t, "", `tools = ["keyed"]`))
	if err != nil {
		panic(err)
	}
	input := json.RawMessage(`{"one": [{"call": "keyed", "request": {"name": "Ana"}}]}`)
	for range 2 {
		run, err := pawl.Start(ctx, workflow, "greeting-1", input, nil)
		if err != nil {
			panic(err)
		}
		output, err := pawl.Await[[]string](ctx, run)
		fmt.Println(output, err)
	}
	// Output:
	// greeting Ana with a key of 26 characters
	// [hello Ana] <nil>
	// [hello Ana] <nil>
}

// The checkpoint document says how a run stands, for people and programs.
func ExampleRun_Checkpoint() {
	t := &exampleTB{}
	defer t.end()
	ctx := context.Background()
	store, err := kv.Open(t.TempDir(), nil)
	if err != nil {
		panic(err)
	}
	defer store.Close()
	engine, err := pawl.Open(ctx, store, nil)
	if err != nil {
		panic(err)
	}
	defer engine.Close()
	workflow, err := engine.Deploy(ctx, folder(t, `title = "Order {input.order}"`, "", ""))
	if err != nil {
		panic(err)
	}
	run, err := pawl.Start(ctx, workflow, "order-7", json.RawMessage(`{"order": 7, "one": [], "two": [{"fail": "sold_out"}]}`), nil)
	if err != nil {
		panic(err)
	}
	c, err := run.Wait(ctx, 0)
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Title, c.State, c.CompletedSteps, c.ResumeFrom)
	enc := json.NewEncoder(os.Stdout)
	_ = enc.Encode(c.Reasons[0])
	// Output:
	// Order 7 failed [one] two
	// {"code":"sold_out","step":"two","waker":"operator","sentence":"two failed and would fail the same way again: told to fail. Another input is needed, in a new run, or other code (pawl resume --upgrade)."}
}
