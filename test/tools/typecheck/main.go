// Command typecheck type-checks packages for another processor or with other build tags, as
// go build with that environment would, but without compiling what they import: that takes
// minutes on a new machine.
//
//	GOARCH=arm typecheck [-tags LIST] [-tests] PACKAGE...
package main

import (
	"flag"
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	tags := flag.String("tags", "", "build tags, separated by commas")
	tests := flag.Bool("tests", false, "also check the tests of the packages")
	flag.Parse()
	// Types of imports come from their sources (NeedDeps), whose function bodies are skipped.
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes |
			packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedModule,
		BuildFlags: []string{"-tags=" + *tags},
		Tests:      *tests,
	}, flag.Args()...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(1)
	}
	if packages.PrintErrors(loaded) > 0 {
		os.Exit(1)
	}
	if len(loaded) == 0 {
		fmt.Fprintln(os.Stderr, "typecheck: no packages")
		os.Exit(1)
	}
}
