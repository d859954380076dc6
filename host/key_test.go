package host_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"pgregory.net/rapid"
)

func keyInput() host.KeyInput {
	return host.KeyInput{
		Store: "01J0000000000000000000STOR", Root: "01J00000000000000000000RUN", Scope: host.Scope{Lineage: "send"},
		Tool: "pay.refund", Request: host.Hash{1, 2, 3}, Occurrence: 1,
	}
}

// Keys and request hashes are in stored runs and in the books of receivers. A
// failure here means doubled effects: raise KeyVersion and keep this formula
// for the intents that were made with it. The values were computed by a second
// program from the formula's words.
func TestKeyFormulaNeverChanges(t *testing.T) {
	t.Parallel()
	if got, want := host.NewKey(host.KeyInput{}).String(), "1EFF887GJXEMFK2VWZ4P2FDCYH"; got != want {
		t.Errorf("empty input: got %s, want %s", got, want)
	}
	key := host.NewKey(keyInput())
	if got, want := key.String(), "4X1RVVTMH06VRSTKK997Y4PW49"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := key.UUID(), "9d0e37bd-5220-36f1-9d4e-6949fc4b7089"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	hash, err := host.RequestHash("pay.refund", "json", "refund:1", true, []byte(`{"b":[1.50,"ü"],"a":null}`))
	if want := "sha256:11c34f1ffb0cd2e10c4fe52331075c886bd0fcf7a923e4734844bef4cdf6cc6c"; err != nil || hash.String() != want {
		t.Errorf("got %s, %v, want %s", hash, err, want)
	}
	if host.KeyVersion != 1 {
		t.Error("a new formula: add its values here and leave these")
	}
}

func TestEveryFieldChangesTheKey(t *testing.T) {
	t.Parallel()
	seen := map[host.Key]string{host.NewKey(keyInput()): "nothing changed"}
	var visit func(path string, index []int, typ reflect.Type)
	visit = func(path string, index []int, typ reflect.Type) {
		if typ.Kind() == reflect.Struct {
			for i := range typ.NumField() {
				visit(path+"."+typ.Field(i).Name, append(index[:len(index):len(index)], i), typ.Field(i).Type)
			}
			return
		}
		in := keyInput()
		field := reflect.ValueOf(&in).Elem().FieldByIndex(index)
		switch typ.Kind() {
		case reflect.String:
			field.SetString(field.String() + "x")
		case reflect.Uint32:
			field.SetUint(field.Uint() + 1)
		case reflect.Array:
			field.Index(typ.Len() - 1).SetUint(1)
		default:
			t.Fatalf("%s: no change for its type", path)
		}
		key := host.NewKey(in)
		if other, ok := seen[key]; ok {
			t.Errorf("%s: same key as with %s", path, other)
		}
		seen[key] = path
	}
	visit("", nil, reflect.TypeFor[host.KeyInput]())
}

func TestNeighbouringFieldsDoNotRunTogether(t *testing.T) {
	t.Parallel()
	a := host.NewKey(host.KeyInput{Scope: host.Scope{Visit: "ab", Item: "c"}})
	b := host.NewKey(host.KeyInput{Scope: host.Scope{Visit: "a", Item: "bc"}})
	if a == b {
		t.Error("two scopes have one key")
	}
}

func TestKeyAsText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var key host.Key
		copy(key[:], rapid.SliceOfN(rapid.Byte(), len(key), len(key)).Draw(t, "key"))
		text, err := json.Marshal(key)
		if err != nil || len(text) != 28 {
			t.Fatalf("%s, %v", text, err)
		}
		var got host.Key
		if err := json.Unmarshal(text, &got); err != nil || got != key {
			t.Fatalf("%s became %s, %v", key, got, err)
		}
		if got, err := host.ParseKey(strings.ToLower(key.String())); err != nil || got != key {
			t.Fatalf("in lower case %s became %s, %v", key, got, err)
		}
		if got := strings.ReplaceAll(key.UUID(), "-", ""); len(got) != 32 {
			t.Fatalf("UUID %s", key.UUID())
		}
	})
	for name, text := range map[string]string{
		"nothing":             "",
		"one character short": strings.Repeat("0", 25),
		"one too many":        strings.Repeat("0", 27),
		"a letter U":          strings.Repeat("0", 25) + "U",
		"more than 128 bits":  "8" + strings.Repeat("0", 25),
	} {
		if key, err := host.ParseKey(text); err == nil {
			t.Errorf("%s: took %q as %s", name, text, key)
		}
	}
}
