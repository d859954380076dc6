package abi

import "strings"

const maxName = 64

// ValidToolName reports whether name can be the name of a tool:
// [a-z0-9_.-]{1,64}.
func ValidToolName(name string) bool { return valid(name, "_.-") }

// ValidCode reports whether code can be the code of a failure or an outcome:
// [a-z0-9_]{1,64}.
func ValidCode(code string) bool { return valid(code, "_") }

func valid(s, marks string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i := range len(s) {
		b := s[i]
		plain := 'a' <= b && b <= 'z' || '0' <= b && b <= '9'
		if !plain && strings.IndexByte(marks, b) < 0 {
			return false
		}
	}
	return true
}
