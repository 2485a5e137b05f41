package main

import (
	"context"
	"fmt"

	"c2c/cmd/cli"
	"c2c/internal/format"
)

func init() { verbs["doctor"] = (*call).doctor }

func (a *call) doctor(ctx context.Context) error {
	roundtrip, verbose, asJSON := a.Bool("roundtrip"), a.Bool("verbose"), a.Bool("json")
	_, o, err := a.wordsAndOptions()
	if err != nil {
		return err
	}
	o.HTTP, _ = a.overHTTP(ctx) // the check of the HTTP daemon reports the error
	report, clients, err := checkup{a.app, o}.check(ctx)
	if err != nil {
		return err
	}
	if *roundtrip {
		f := selfTest(ctx, o)
		if f.Status == format.OK && format.Problems(clients) > 0 {
			f.Detail += "; but a client is kept from its mail: see the problems"
		}
		report = append(report, f)
	}
	if *asJSON {
		err = cli.JSON(a.stdout, report)
	} else {
		format.Print(a.stdout, report, *verbose)
	}
	if n := format.Problems(report); err == nil && n > 0 {
		err = fmt.Errorf("problems found: %d", n)
	}
	return err
}
