package host

import "fmt"

// KeyFormatUUID, as a contract's KeyFormat, has keys written as UUIDs.
const KeyFormatUUID = "uuid"

// KeyText is the key as the tool's receiver is given it, and as people look for
// it there: in the contract's KeyFormat.
func (c Contract) KeyText(k Key) string {
	if c.KeyFormat == KeyFormatUUID {
		return k.UUID()
	}
	return k.String()
}

func (c Contract) checkKeyFormat() *ContractError {
	if c.KeyFormat != "" && c.KeyFormat != KeyFormatUUID {
		return &ContractError{Field: "key_format", Reason: fmt.Sprintf("keys are not written as %q (nothing for 26 characters, or %q)", c.KeyFormat, KeyFormatUUID)}
	}
	return nil
}
