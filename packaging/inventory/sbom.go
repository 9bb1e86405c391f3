package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bom is the part of CycloneDX 1.6 that a release uses.
type bom struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Hashes  []hash `json:"hashes,omitempty"`
	PURL    string `json:"purl,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// billOfMaterials lists the programs, the modules that each links according to its build
// information, and the Go standard library. epoch is the time of the source in seconds.
func billOfMaterials(version, epoch string, programs []string) ([]byte, error) {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	const release = "gorosbag"
	b := bom{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: metadata{
			Timestamp: time.Unix(seconds, 0).UTC().Format(time.RFC3339),
			Component: component{Type: "application", Ref: release, Name: release, Version: version},
		},
	}
	modules := map[string]component{}
	top := dependency{Ref: release}
	for _, path := range slices.Sorted(slices.Values(programs)) {
		p, links, err := programAt(path, version)
		if err != nil {
			return nil, err
		}
		b.Components = append(b.Components, p)
		top.DependsOn = append(top.DependsOn, p.Ref)
		uses := dependency{Ref: p.Ref}
		for _, m := range links {
			modules[m.Ref] = m
			uses.DependsOn = append(uses.DependsOn, m.Ref)
		}
		b.Dependencies = append(b.Dependencies, uses)
	}
	b.Dependencies = append(b.Dependencies, top)
	for _, ref := range slices.Sorted(maps.Keys(modules)) {
		b.Components = append(b.Components, modules[ref])
	}
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}

// programAt returns a program and what it links.
func programAt(path, version string) (program component, links []component, err error) {
	content, err := os.ReadFile(path) //nolint:gosec // the program that was asked for
	if err != nil {
		return component{}, nil, err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return component{}, nil, err
	}
	name, sum := filepath.Base(path), sha256.Sum256(content)
	links = []component{library("std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		links = append(links, library(d.Path, d.Version))
	}
	return component{
		Type: "application", Ref: name, Name: name, Version: version,
		Hashes: []hash{{Algorithm: "SHA-256", Content: hex.EncodeToString(sum[:])}},
	}, links, nil
}

// library returns a module as a component. Its package URL names it in databases of
// vulnerabilities; a plus sign, as in "+incompatible", has a meaning in URLs.
func library(path, version string) component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: "library", Ref: url, Name: path, Version: version, PURL: url}
}
