// Package dataset reads the rows of SWE-bench datasets: from JSON, JSON Lines and Parquet
// files, by path or from a hub.
//
// [Load] reads a [Source] and keeps the order of its rows. A file is known by what is in
// it, not by its name:
//
//   - a JSON array of objects, or an object with "rows", as hubs answer it;
//   - JSON Lines;
//   - Parquet, with lists as lists or as JSON text.
//
// A row that cannot be used fails the whole call, and the [Error] names its file, its line
// or number and its column: a benchmark without one of its instances is another benchmark.
// Two rows with one instance ID are refused, across all files.
//
// A [Hub] has no default address. What is fetched from it is checked against the checksums
// that the hub lists, kept in a cache folder, and resumed where an earlier attempt ended.
//
// [ImageFor] names the image in which an instance runs; [Filter] and [Slice] choose rows as
// the Python agent's options of these names do.
package dataset
