package main

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A package, a type and a function stay small enough to be read whole. What is larger stands in a table with its size, and
// may only shrink.

func TestNoPackageOutgrowsItsLines(t *testing.T) {
	lines := map[string]int{}
	for _, s := range product(t) {
		lines[s.pkg] += s.fset.File(s.file.Pos()).LineCount() - 1
	}
	for _, row := range layers {
		switch has := lines[row.name]; {
		case has == 0:
			t.Errorf("layers has a line for %s, which is no package", row.name)
		case has > row.lines:
			t.Errorf("%s has %d lines, and may have %d: take out what is a concept of its own", row.name, has, row.lines)
		case row.lines-has > 100+row.lines/10:
			t.Errorf("%s has %d lines: lower its %d in layers", row.name, has, row.lines)
		}
	}
}

func TestNoTypeHasTooManyMethods(t *testing.T) {
	methods := map[string]map[string]bool{} // by name: a file of another system may have the same again
	for _, s := range product(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			of := s.pkg + "." + receiverType(f)
			if methods[of] == nil {
				methods[of] = map[string]bool{}
			}
			methods[of][f.Name.Name] = true
		}
	}
	for name, all := range methods {
		limit, large := manyMethods[name]
		switch has := len(all); {
		case has > max(limit, mostMethods):
			t.Errorf("%s has %d methods, and may have %d: give what belongs together a type or a package of its own", name, has, max(limit, mostMethods))
		case large && has < limit:
			t.Errorf("%s has %d methods: lower its %d in manyMethods", name, has, limit)
		}
	}
	for name := range manyMethods {
		if methods[name] == nil {
			t.Errorf("manyMethods has a line for %s, which is no type", name)
		}
	}
}

func receiverType(f *ast.FuncDecl) string {
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	return t.(*ast.Ident).Name
}

func TestNoFunctionIsTooLong(t *testing.T) {
	const most = 60
	for _, s := range product(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				n := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
				name := s.pkg + "." + f.Name.Name
				if limit := max(longFunctions[name], most); n > limit {
					t.Errorf("%s has %d lines, and may have %d", name, n, limit)
				}
			}
		}
	}
}

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
