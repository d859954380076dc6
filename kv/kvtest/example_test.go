package kvtest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/kv/kvtest"
)

// What somebody waited for outlives a power cut; of the rest nobody knows.
func ExampleDisk() {
	disk := kvtest.NewDisk(&kvtest.DiskOptions{Survive: func(int) int { return 0 }})
	store, err := disk.Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := store.Commit(set("told", "1")).Wait(context.Background()); err != nil {
		fmt.Println(err)
	}
	store.Commit(set("on its way", "1"))
	disk.Cut()
	_, err = get(store, "told")
	fmt.Println("the old store works:", !errors.Is(err, kv.ErrStoreBroken))

	next, err := disk.Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer next.Close()
	for _, key := range []string{"told", "on its way"} {
		_, err := get(next, key)
		fmt.Printf("%s: %v\n", key, err == nil)
	}
	// Output:
	// the old store works: false
	// told: true
	// on its way: false
}
