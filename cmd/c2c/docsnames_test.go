package main

import (
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// forDevelopers lists the pages that name parts of the code.
func forDevelopers(t *testing.T) (pages []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/inside/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, found, err)
		}
		pages = append(pages, found...)
	}
	return pages
}

// tree is what pages may name.
type tree struct {
	paths, files, dirs map[string]bool            // whole paths; names of files; directories at the top
	exported           map[string]map[string]bool // by the last part of a package's path: what it declares
	words              map[string]bool            // every word that looks like a Go name, in any file of code
}

var goName = regexp.MustCompile(`\b[A-Za-z]+[a-z][A-Z][A-Za-z]*\b`)

func ourTree(t *testing.T) tree {
	t.Helper()
	all := tree{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]map[string]bool{}, map[string]bool{}}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(root, name)
		if err != nil || relErr != nil || rel == "." {
			return err
		}
		rel = filepath.ToSlash(rel)
		all.paths[rel] = true
		if d.IsDir() {
			if !strings.Contains(rel, "/") {
				all.dirs[rel] = true
			}
			if rel == ".git" || rel == "bin" || rel == "dist" {
				return filepath.SkipDir
			}
			return nil
		}
		all.files[path.Base(rel)] = true
		switch path.Ext(rel) {
		case ".go", ".ts", ".mjs", ".js", ".sh":
			data, err := os.ReadFile(name)
			for _, word := range goName.FindAll(data, -1) {
				all.words[string(word)] = true
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range product(t) {
		pkg := path.Base(s.pkg)
		if all.exported[pkg] == nil {
			all.exported[pkg] = map[string]bool{}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				all.exported[pkg][n.Name.Name] = true
				return false
			case *ast.TypeSpec:
				all.exported[pkg][n.Name.Name] = true
			case *ast.ValueSpec:
				for _, name := range n.Names {
					all.exported[pkg][name.Name] = true
				}
			}
			return true
		})
	}
	return all
}

// hasWord says whether the code has a word, or one that contains it: of some tests the pages give
// only a part.
func (t tree) hasWord(name string) bool {
	for word := range t.words {
		if strings.Contains(word, name) {
			return true
		}
	}
	return false
}

var quoted = regexp.MustCompile("`([^`\n]+)`")
var pathLike = regexp.MustCompile(`^\.?[A-Za-z][\w.-]*(/[\w.-]+)*/?$`)
var fileLike = regexp.MustCompile(`^[\w.-]+\.(go|ts|mjs|js|sh)$`)
var ofPackage = regexp.MustCompile(`^([a-z]+)\.([A-Z]\w+)`)
var aGoName = regexp.MustCompile(`^` + goName.String() + `$`)

// exampleClient is the client that docs/adding-a-client.md adds.
const exampleClient = "gem"

// inARoot are paths below a root of mail whose first part is also a directory of the tree.
var inARoot = []string{"permission/audit.jsonl", "permission/lock", "sessions/ids/"}

// A path, a file, pkg.Name or a word with a capital inside, between backquotes: the tree has it.
func TestWhatIsNamedInTheDocsIsInTheTree(t *testing.T) {
	all, seen := ourTree(t), 0
	for _, page := range forDevelopers(t) {
		if base := filepath.Base(page); base == "CHANGELOG.md" { // it tells of what is gone, too
			continue
		}
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range quoted.FindAllStringSubmatch(string(data), -1) {
			named := m[1]
			first, _, deep := strings.Cut(named, "/")
			known := true
			switch pkg := ofPackage.FindStringSubmatch(named); {
			case slices.Contains(inARoot, named) || filepath.Base(page) == "adding-a-client.md" && strings.Contains(named, exampleClient):
				continue
			case deep && pathLike.MatchString(named) && all.dirs[first]:
				known = all.paths[strings.TrimSuffix(named, "/")]
			case fileLike.MatchString(named):
				known = all.files[named]
			case pkg != nil && all.exported[pkg[1]] != nil:
				known = all.exported[pkg[1]][pkg[2]]
			case aGoName.MatchString(named):
				known = all.hasWord(named)
			default:
				continue
			}
			if seen++; !known {
				t.Errorf("%s names %s, which the tree does not have", page, named)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d names were looked at", seen)
	}
}
