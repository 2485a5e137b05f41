package wake

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// A status says by which method a message came.
func TestEveryMethodHasARowWithWords(t *testing.T) {
	source, err := os.ReadFile("method.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^\t(By[A-Z]\w*)\s+= "(.+?)"`).FindAllStringSubmatch(string(source), -1)
	if len(names) == 0 || len(names) != len(methods) {
		t.Errorf("method.go has %d names of methods and %d rows", len(names), len(methods))
	}
	for _, name := range names {
		if !slices.ContainsFunc(methods[:], func(m About) bool { return m.Name == name[2] && m.Words != "" }) {
			t.Errorf("methods has no row for %s, or the row has no Words", name[1])
		}
	}
}
