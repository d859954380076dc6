// Command guest is a step module written by hand against the ABI: one step for
// each way of behaving that the tests of the sandbox need.
package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	mathrand "math/rand"
	randv2 "math/rand/v2"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/pawl-dev/pawl/host/abi"
)

//go:wasmimport pawl_v1 call
func hostCall(tool unsafe.Pointer, toolLen uint32, request unsafe.Pointer, requestLen uint32) uint64

//go:wasmimport pawl_v1 take
func hostTake(dst unsafe.Pointer, capacity uint32) int32

//go:wasmimport pawl_v1 put
func hostPut(kind uint32, data unsafe.Pointer, length uint32)

// early is drawn while the module initialises.
var early = mathrand.Int63()

func main() {}

//go:wasmexport pawl_step
func step(length uint32) uint32 {
	var head abi.InputHead
	body, err := abi.SplitFrame(take(length), &head)
	if err != nil {
		panic(err)
	}
	f, ok := behaviours[head.Step]
	if !ok {
		put(abi.PutFailure, []byte(`{"code":"no_such_step","message":"no step `+head.Step+`"}`))
		return 1
	}
	put(abi.PutOutput, f(body))
	return 0
}

//go:wasmexport pawl_describe
func describe(uint32) uint32 {
	put(abi.PutOutput, []byte(`{"abi":1,"sdk":"hand/1","steps":[{"name":"echo"}],"tools":[{"name":"echo"}]}`))
	return 0
}

var behaviours = map[string]func(input []byte) []byte{
	"echo":    func(input []byte) []byte { return call("echo", input) },
	"plain":   func(input []byte) []byte { return input },
	"entropy": entropy,
	"draws":   draws,
	"clock":   clock,
	"lines": func([]byte) []byte {
		fmt.Println("one")
		fmt.Fprintln(os.Stderr, "two")
		put(abi.PutDebug, []byte("three\nfour"))
		put(abi.PutError, []byte("five \x1b[31mred"))
		fmt.Print("six, unfinished")
		return []byte("null")
	},
	"half": func(input []byte) []byte {
		fmt.Print("half ")
		return call("echo", input)
	},
	"flood": func([]byte) []byte {
		line := strings.Repeat("x", 20_000)
		for range 400 {
			fmt.Println(line)
		}
		return []byte("null")
	},
	"environment": func([]byte) []byte {
		_, err := os.ReadFile("/etc/passwd")
		return mustJSON(map[string]any{"args": os.Args, "env": os.Environ(), "file": fmt.Sprint(err)})
	},
	"allocate": func([]byte) []byte {
		kept := make([][]any, 50_000)
		for i := range 1_000_000 {
			kept[i%len(kept)] = []any{i, i + 1, i + 2}
		}
		keeping = kept[0] != nil
		return []byte("null")
	},
	"typed": typed,
	"sort":  sorted,
	"hog": func([]byte) []byte {
		var kept [][]byte
		for {
			b := make([]byte, 1<<20)
			b[0] = 1
			kept = append(kept, b)
			if len(kept) > 1<<20 {
				return nil
			}
		}
	},
	"panic": func([]byte) []byte { panic("the ticket has no owner") },
	"nil":   func([]byte) []byte { var p *abi.Failure; return []byte(p.Code) },
	"exit":  func([]byte) []byte { fmt.Fprintln(os.Stderr, "giving up"); os.Exit(7); return nil },
	"leave": func([]byte) []byte { os.Exit(0); return nil },
	"spin": func([]byte) []byte {
		call("ready", []byte("null"))
		for {
			spun++
		}
	},
	"deep":  func([]byte) []byte { return mustJSON(deep(1, &[64]int{})) },
	"stuck": func([]byte) []byte { <-make(chan int); return nil },
}

// typed makes as many calls as the input says, each with a request and a
// response of their own types.
func typed(input []byte) []byte {
	var n int
	if err := json.Unmarshal(input, &n); err != nil {
		panic(err)
	}
	var sum int
	for i := range n {
		request := struct {
			Order  string   `json:"order"`
			Amount int      `json:"amount"`
			Tags   []string `json:"tags"`
		}{"W4398027", i, []string{"first", "second"}}
		var response struct {
			ID     string   `json:"id"`
			Amount int      `json:"amount"`
			Tags   []string `json:"tags"`
		}
		if err := json.Unmarshal(call("typed", mustJSON(request)), &response); err != nil {
			panic(err)
		}
		sum += response.Amount
	}
	return mustJSON(sum)
}

// sorted sorts as many numbers as the input says.
func sorted(input []byte) []byte {
	var n int
	if err := json.Unmarshal(input, &n); err != nil {
		panic(err)
	}
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i * 7919 % 100_003
	}
	slices.Sort(numbers)
	return mustJSON(numbers[0])
}

var (
	spun    int
	keeping bool
)

//go:noinline
func deep(n int, p *[64]int) int {
	var room [64]int
	room[n%64] = n + p[(n+1)%64]
	return deep(n+1, &room) + room[n%64]
}

// entropy calls with everything that differs from one execution of an ordinary
// program to the next.
func entropy([]byte) []byte {
	numbers := map[string]int{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8}
	for round := range 5 {
		var order []string
		for k := range maps.Keys(numbers) {
			order = append(order, k)
		}
		secret := make([]byte, 16)
		rand.Read(secret)
		call("entropy", mustJSON(map[string]any{
			"order": order, "time": time.Now(), "early": early, "math": mathrand.Int63(), "v2": randv2.Int64(),
			"crypto": secret, "woke": sleepers(), "round": round, "goroutines": goruntime.NumGoroutine(),
		}))
	}
	return mustJSON(early)
}

// draws calls twice; the input says how many bytes are read before the first.
func draws(input []byte) []byte {
	var n int
	if err := json.Unmarshal(input, &n); err != nil {
		panic(err)
	}
	rand.Read(make([]byte, n))
	for range 2 {
		b := make([]byte, 16)
		rand.Read(b)
		call("drawn", mustJSON(map[string]any{"crypto": b, "early": early}))
	}
	return []byte("null")
}

// sleepers reports in which order goroutines woke.
func sleepers() []int {
	woke := make(chan int)
	for i := range 10 {
		go func() {
			time.Sleep(time.Duration((i*7)%10) * time.Millisecond)
			woke <- i
		}()
	}
	var order []int
	for range 10 {
		order = append(order, <-woke)
	}
	return order
}

// clock reports the wall time before and after a call, and how long a sleep of
// an hour took by either clock.
func clock([]byte) []byte {
	first, second := time.Now(), time.Now()
	call("clock", []byte("null"))
	after := time.Now()
	time.Sleep(time.Hour)
	late := time.Now()
	return mustJSON(map[string]any{
		"first": first, "second": second, "after": after,
		"slept_wall": late.Round(0).Sub(after.Round(0)), "slept_monotonic": late.Sub(after),
	})
}

func call(tool string, body []byte) []byte {
	frame, err := abi.AppendFrame(nil, abi.CallHead{Type: abi.TypeJSON}, body)
	if err != nil {
		panic(err)
	}
	n := hostCall(unsafe.Pointer(unsafe.StringData(tool)), uint32(len(tool)), unsafe.Pointer(&frame[0]), uint32(len(frame)))
	var head abi.ResultHead
	reply, err := abi.SplitFrame(take(uint32(n)), &head)
	if err != nil {
		panic(err)
	}
	return reply
}

func take(length uint32) []byte {
	if n := hostTake(nil, 0); n != -int32(length) {
		panic(fmt.Sprintf("take of nothing says %d, not %d", n, -int32(length)))
	}
	b := make([]byte, length)
	for range 2 { // the slot stays
		if n := hostTake(unsafe.Pointer(&b[0]), length); n != int32(length) {
			panic(fmt.Sprintf("take says %d, not %d", n, length))
		}
	}
	return b
}

func put(kind abi.PutKind, b []byte) {
	hostPut(uint32(kind), unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)))
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
