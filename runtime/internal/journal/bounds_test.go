package journal

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// What tools and receivers say may be in any encoding, or half of a character:
// a record that holds it can be read again all the same, or its run is lost.
//
// Seen red, kind by kind, with texts taken as they are.
func TestTextsThatAreNoUnicode(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"\xdcberweisung", strings.Repeat("\xff", maxMessage-1), strings.Repeat("\xff", maxMessage+1)} {
		for name, record := range map[string]Record{
			"retry":   {Retry: &Retry{Code: bad, Message: bad, Receiver: cut(bad, maxMessage)}},
			"receipt": {Receipt: &Receipt{Code: bad, Message: bad, Type: bad}},
			"refusal": {Refusal: &Refusal{Code: bad, Message: bad}},
			"failure": {Fail: &Fail{Code: bad, Message: bad}},
			"park":    {Park: &Park{Code: bad, Sentence: bad, Help: bad}},
			"wait":    {Wait: &Wait{Code: WaitPaused, Sentence: bad, Waker: bad, Waited: &Waited{Code: bad, Message: bad}, Pause: &Pause{Why: bad}}},
		} {
			record.bound()
			data := encode(&entry{Format: Format, Records: []Record{record}})
			e, err := decodeEntry(data)
			if err != nil {
				t.Errorf("%s with %d bytes: %v", name, len(bad), err)
			} else if text := fmt.Sprintf("%+v", e.Records[0]); !utf8.ValidString(text) {
				t.Errorf("%s: %q", name, text)
			}
			if len(data) > 8*maxMessage {
				t.Errorf("%s with %d bytes: %d in the record", name, len(bad), len(data))
			}
		}
	}
}
