// Command duckdb runs a query of standard input with DuckDB and prints its rows, with tabs between the
// columns: the program of DuckDB itself is in no package of Debian 12.
package main

import (
	"database/sql"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	_ "github.com/duckdb/duckdb-go/v2"
)

func main() {
	if len(os.Args) > 1 { // --version
		fmt.Println("duckdb")
		return
	}
	query, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(string(query)); err != nil {
		log.Fatal(err)
	}
}

func run(query string) error {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	rows, err := db.Query(query)
	if err != nil {
		return err
	}
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, targets, texts := make([]any, len(columns)), make([]any, len(columns)), make([]string, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		for i, v := range values {
			texts[i] = fmt.Sprint(v)
		}
		fmt.Println(strings.Join(texts, "\t"))
	}
	return rows.Err()
}
