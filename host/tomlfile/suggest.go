package tomlfile

// Suggest returns the known name that was probably meant: the nearest one, if
// it differs by no more than a third of its letters. It returns "" if there is
// none.
func Suggest(name string, known []string) string {
	best, least := "", len(name)/3+2
	for _, k := range known {
		if d := distance(name, k); d < least && d <= max(1, len(k)/3) {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with the next.
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last = last, row
		row = make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
