// Command command is a WASI command: a program that reads its input on stdin
// and writes its output on stdout, and in other ways if it is told to.
package main

import (
	crand "crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

func main() {
	var input struct {
		Do     string `json:"do"`
		Number int    `json:"number"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "doing", input.Do)
	switch input.Do {
	case "double":
		fmt.Printf("{\n  \"twice\": %d\n}\n", 2*input.Number)
	case "entropy":
		secret := make([]byte, 8)
		crand.Read(secret)
		json.NewEncoder(os.Stdout).Encode([]any{time.Now(), hex.EncodeToString(secret), os.Args, os.Environ()})
	case "leave":
		fmt.Print("null")
		os.Exit(0)
	case "exit":
		fmt.Print("null")
		fmt.Fprintln(os.Stderr, "no such order")
		os.Exit(input.Number)
	case "panic":
		panic("the order has no owner")
	case "text":
		fmt.Println("done")
	case "silence":
	case "flood":
		for {
			os.Stdout.Write(make([]byte, 1<<20))
		}
	case "spin":
		for {
			input.Number++
		}
	}
}
