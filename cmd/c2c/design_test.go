package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/client"
)

// The list of docs/design.md is that of layers: go test ./cmd/c2c -run TestTheDesignListsTheLayers
// -update writes it.
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

// A client with a protocol of its own registers itself, but only if a program links its package.
func TestTheRingerLinksEveryClient(t *testing.T) {
	var want strings.Builder
	want.WriteString(`// This file is written by make docs. It links the packages by which c2c wakes clients that have a
// protocol of their own.

package ringer

import (
`)
	for _, name := range slices.Sorted(slices.Values(client.Names())) {
		p, _ := client.Find(name)
		own := filepath.Join("..", "..", "wake", name)
		if _, err := os.Stat(own); p.Protocol && err != nil {
			t.Errorf("the profile of %s has Protocol: %v", name, err)
		} else if err == nil && !p.Protocol {
			t.Errorf("wake/%s exists: set Protocol in client/%s.go", name, name)
		}
		if p.Protocol {
			fmt.Fprintf(&want, "\t_ \"c2c/wake/%s\"\n", name)
		}
	}
	want.WriteString(")\n")
	file := filepath.Join("..", "ringer", "clients.go")
	if *update {
		if err := os.WriteFile(file, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != want.String() {
		t.Errorf("cmd/ringer/clients.go is stale: run make docs (%v)", err)
	}
}
