// Command inventory writes what a release says about the code in its programs: the licenses of
// the linked modules, and a software bill of materials (CycloneDX, JSON).
//
//	inventory [-tags TAGS] [-of PACKAGES] [-licenses FILE] [-sbom FILE -version VERSION PROGRAM...]
//
// It has to run in the root of the module, with GOOS and GOARCH as the programs were built. The
// time of the bill is SOURCE_DATE_EPOCH, so that the same source gives the same bytes.
//
// Decisions: ADR 0072.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
)

func main() {
	tags := flag.String("tags", "", "build `TAGS` of the programs")
	pattern := flag.String("of", "./cmd/...", "`PACKAGES` of the programs whose licenses are written")
	licenseFile := flag.String("licenses", "", "write the licenses to `FILE`")
	sbomFile := flag.String("sbom", "", "write the bill of materials to `FILE`")
	version := flag.String("version", "", "`VERSION` of the release")
	flag.Parse()
	if err := run(context.Background(), *tags, *pattern, *licenseFile, *sbomFile, *version,
		flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "inventory:", err)
		os.Exit(1) //nolint:forbidigo // the program's end
	}
}

func run(ctx context.Context, tags, pattern, licenseFile, sbomFile, version string, programs []string) error {
	if licenseFile != "" {
		text, err := licenses(ctx, tags, pattern)
		if err != nil {
			return err
		}
		if err := os.WriteFile(licenseFile, text, 0o644); err != nil { //nolint:gosec // for everybody to read
			return err
		}
	}
	if sbomFile == "" {
		return nil
	}
	text, err := billOfMaterials(version, os.Getenv("SOURCE_DATE_EPOCH"), programs)
	if err != nil {
		return err
	}
	return os.WriteFile(sbomFile, text, 0o644) //nolint:gosec // for everybody to read
}
