package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The list of docs/design.md is that of layers: go test ./cmd/c2c -run TestTheDesignListsTheLayers -update writes it.
func TestTheDesignListsTheLayers(t *testing.T) {
	var want strings.Builder
	for _, row := range layers {
		fmt.Fprintf(&want, "    %-23s %s\n", row.name, row.contract)
	}
	file := filepath.Join("..", "..", "docs", "design.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), "<!-- layers -->\n")
	list, after, end := strings.Cut(rest, "<!-- end of layers -->")
	if !ok || !end {
		t.Fatal("it has no list of the layers")
	}
	if list == want.String() {
		return
	}
	if !*update {
		t.Fatal("it has another list of the layers: run this test with -update")
	}
	text := before + "<!-- layers -->\n" + want.String() + "<!-- end of layers -->" + after
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
