// Command bench measures c2c's hot paths, each alternately with a limit that does not depend on
// c2c:
//
//	bench [-before dir] [-only pattern] [-page file] <directory of the programs>
//
// It exits 1 if a figure is above its aim. With -before it also measures each row with an older c2c
// and c2cd, and exits 1 if a row has become slower.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == stdioWord {
		if err := stdio(os.Args[2]); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		}
		return
	}
	before := flag.String("before", "", "a directory with an older c2c and c2cd to compare with")
	only := flag.String("only", "", "the rows whose name matches this, and no page")
	page := flag.String("page", "", "a Markdown file: the text between its two marks is replaced after all rows were measured")
	flag.Parse()
	wanted, err := regexp.Compile(*only)
	if flag.NArg() != 1 || err != nil {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *before, wanted, *page); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// bench holds the programs to measure. Each has a world of its own.
type bench struct {
	now    *world
	before *world // nil: no older programs to compare with
	beside *beside
	end    time.Time // when the rows should be done
	left   int       // number of rows that are left, with this one
}

func run(bin, before string, only *regexp.Regexp, page string) (err error) {
	start := time.Now()
	defer func() { fmt.Fprintf(os.Stderr, "bench: it took %v\n", time.Since(start).Round(time.Second)) }()
	b := &bench{}
	if b.now, err = newWorld(bin); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.now.close()) }()
	if before != "" {
		if b.before, err = newWorld(before); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.before.close()) }()
	}
	b.beside = newBeside(b.now)
	var results []result
	var failed error
	wanted := slices.DeleteFunc(rows(), func(r row) bool { return !only.MatchString(r.name) })
	b.end = start.Add(allRows)
	for i, r := range wanted {
		b.left = len(wanted) - i
		res, err := b.row(r)
		if err != nil {
			err = fmt.Errorf("%s: %w", r.name, err)
			fmt.Fprintf(os.Stderr, "bench: %v\n", err)
			failed = errors.Join(failed, err)
			continue
		}
		fmt.Fprint(os.Stderr, res.line())
		results = append(results, res)
	}
	if failed != nil {
		return errors.New("not everything could be measured, so no page is written")
	}
	text := b.report(results)
	if only.String() == "" {
		meanwhile, err := b.now.http()
		if err != nil {
			return fmt.Errorf("http: %w", err)
		}
		text += meanwhile
	}
	fmt.Print(text)
	if page != "" && only.String() == "" && before == "" {
		if err := writePage(page, text); err != nil {
			return err
		}
	}
	return verdict(results)
}

// verdict returns an error if a row is above its aim, or slower than before.
func verdict(results []result) error {
	var above, slower []string
	for _, res := range results {
		if res.above() {
			above = append(above, res.name)
		}
		if res.slower() {
			slower = append(slower, res.name)
		}
	}
	var err error
	if len(above) > 0 {
		err = fmt.Errorf("%d rows are above their aim: %s", len(above), strings.Join(above, "; "))
	}
	if len(slower) > 0 {
		err = errors.Join(err, fmt.Errorf("%d rows are slower than before: %s", len(slower), strings.Join(slower, "; ")))
	}
	return err
}
