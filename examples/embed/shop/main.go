// Command shop is the module of the example's steps: it is built for the
// sandbox. It is for the server around it, which is an ordinary program.
package main

import "github.com/pawl-dev/pawl/steps"

// Order is the input of a run.
type Order struct {
	ID    string `json:"id"`
	Item  string `json:"item"`
	Cents int64  `json:"cents"`
}

// Entry is what the books are asked to keep.
type Entry struct {
	Account string `json:"account"`
	Text    string `json:"text"`
	Cents   int64  `json:"cents"`
}

// Entered is what the books answer.
type Entered struct {
	Line int `json:"line"`
}

// Sold is the output of a run.
type Sold struct {
	Lines []int `json:"lines"`
}

var enter = steps.NewTool[Entry, Entered]("books.enter")

func init() { steps.Handle("sell", sell) }

func main() {}

// sell makes two entries. Neither is ever made twice, whatever happens between.
func sell(s *steps.Step, in Order) (Sold, error) {
	var sold Sold
	for _, e := range []Entry{
		{Account: "sales", Text: in.Item, Cents: in.Cents},
		{Account: "tax", Text: in.Item, Cents: in.Cents * 19 / 119},
	} {
		entered, err := enter.Call(s, e)
		if err != nil {
			return sold, err
		}
		sold.Lines = append(sold.Lines, entered.Line)
	}
	return sold, nil
}
