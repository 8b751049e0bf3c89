// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waves on a grid that is divided among MPI ranks. While a device computes the interior of its tile, the ranks
//! exchange the edges.
//!
//! `stencil-mpi [ROWS COLUMNS STEPS] [--compare] [--picture FILE]`

mod grid;
mod picture;
mod scene;
mod tile;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use mpi::collective::SystemOperation;
use mpi::datatype::PartitionMut;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

use grid::{Grid, Part};
use tile::{Tile, Times};

/// Rows, columns and steps, unless arguments say otherwise.
const DEFAULT: [usize; 3] = [400, 640, 820];
const USAGE: &str = "usage: stencil-mpi [ROWS COLUMNS STEPS] [--compare] [--picture FILE]";

struct Arguments {
    numbers: [usize; 3],
    is_compared: bool,
    picture: Option<PathBuf>,
}

fn main() -> ExitCode {
    let Some(universe) = mpi::initialize() else {
        eprintln!("error: MPI is initialized already");
        return ExitCode::FAILURE;
    };
    let world = universe.world();
    let Some(arguments) = Arguments::parse(std::env::args().skip(1)) else {
        if world.rank() == 0 {
            eprintln!("{USAGE}");
        }
        return ExitCode::from(2);
    };
    // The other ranks would wait for this one forever. Both an error and a panic end the whole job.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        hook(panic);
        SimpleCommunicator::world().abort(101);
    }));
    if let Err(error) = run(&world, &arguments) {
        eprintln!("error: rank {}: {error}", world.rank());
        world.abort(1);
    }
    ExitCode::SUCCESS
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let (mut numbers, mut is_compared, mut picture) = (Vec::new(), false, None);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--compare" => is_compared = true,
                "--picture" => picture = Some(words.next()?.into()),
                number => numbers.push(number.parse().ok()?),
            }
        }
        let numbers = if numbers.is_empty() {
            DEFAULT
        } else {
            numbers.try_into().ok()?
        };
        Some(Self {
            numbers,
            is_compared,
            picture,
        })
    }
}

fn run(world: &SimpleCommunicator, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let [rows, columns, steps] = arguments.numbers;
    let (rank, ranks) = (
        usize::try_from(world.rank())?,
        usize::try_from(world.size())?,
    );
    let grid = Grid::new(rows, columns, ranks)?;
    let part = grid.part(rank);
    let local_rank = world.split_shared(world.rank()).rank();
    let (index, device) = tile::device(usize::try_from(local_rank)?)?;
    let mut tile = Tile::new(&device, &grid, &part)?;

    world.barrier();
    let start = Instant::now();
    for _ in 0..steps {
        tile.step(|edges, halo| exchange(world, &grid, edges, halo))?;
    }
    let times = tile.times()?;
    let total = start.elapsed();

    let cells = tile.cells()?;
    let mut sum = 0u64;
    world.all_reduce_into(
        &checksum(&grid, &part, &cells),
        &mut sum,
        SystemOperation::sum(),
    );
    if rank == 0 {
        let Grid { down, across, .. } = grid;
        println!("device    {device}");
        println!("ranks     {ranks} ({down} x {across}), {rows} x {columns} cells, {steps} steps");
    }
    print_times(world, [index, cells.len()], times, total);
    if rank == 0 {
        println!("checksum  {sum:016x}");
    }
    if arguments.is_compared || arguments.picture.is_some() {
        let all = gather(world, &grid, &cells);
        if rank == 0 && arguments.is_compared {
            compare(&device, &grid, steps, &all)?;
        }
        if let (0, Some(file)) = (rank, &arguments.picture) {
            picture::write(file, &grid, &all)?;
            println!("picture   {}", file.display());
        }
    }
    Ok(())
}

/// Sends the edges to the neighbours, and receives theirs.
fn exchange(world: &SimpleCommunicator, grid: &Grid, edges: &[f32], halo: &mut [f32]) {
    let rank = world.rank() as usize;
    let sides = grid.part(rank).sides();
    let neighbours = grid.neighbours(rank);
    mpi::request::multiple_scope(8, |scope, requests| {
        let mut rest = halo;
        for (direction, (side, neighbour)) in sides.into_iter().zip(neighbours).enumerate() {
            let (received, after) = rest.split_at_mut(side.len());
            rest = after;
            let Some(neighbour) = neighbour else { continue };
            let process = world.process_at_rank(neighbour as i32);
            // What goes up comes from below: 0 and 1 are opposite directions, as are 2 and 3.
            let (out, back) = (direction as i32, direction as i32 ^ 1);
            requests.add(process.immediate_receive_into_with_tag(scope, received, back));
            requests.add(process.immediate_send_with_tag(scope, &edges[side], out));
        }
        requests.wait_all(&mut Vec::new());
    });
}

/// Adds up a hash of each cell and its place, so that the division among ranks makes no difference.
fn checksum(grid: &Grid, part: &Part, cells: &[f32]) -> u64 {
    let cells = part.cells().zip(cells).map(|((row, column), value)| {
        let place = (row * grid.columns + column) as u64;
        // The mixing function of SplitMix64: Steele, Lea and Flood, OOPSLA 2014.
        let mut hash = place << 32 | u64::from(value.to_bits());
        hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ hash >> 31
    });
    cells.fold(0, u64::wrapping_add)
}

/// Prints a line per rank, on rank 0. `numbers` are the index of the device and the number of cells.
fn print_times(world: &SimpleCommunicator, numbers: [usize; 2], times: Times, total: Duration) {
    let Times {
        interior,
        border,
        copies,
        messages,
    } = times;
    let [device, cells] = numbers.map(|number| number as f64);
    let [interior, border, copies, messages, total] =
        [interior, border, copies, messages, total].map(|time| 1e3 * time.as_secs_f64());
    let mine = [device, cells, interior, border, copies, messages, total];
    let root = world.process_at_rank(0);
    if world.rank() != 0 {
        return root.gather_into(&mine);
    }
    let mut all = vec![[0.0; 7]; world.size() as usize];
    root.gather_into_root(&mine, all.as_flattened_mut());
    println!("          on device    cells  interior  border  copies  messages  in all (ms)");
    for (rank, [device, cells, interior, border, copies, messages, total]) in all.iter().enumerate()
    {
        println!(
            "rank {rank:<6} {device:>7} {cells:>8} {interior:>9.1} {border:>7.1} {copies:>7.1} {messages:>9.1} {total:>7.1}"
        );
    }
}

/// Returns the cells of all ranks in the order of the grid, on rank 0. The others get nothing.
fn gather(world: &SimpleCommunicator, grid: &Grid, cells: &[f32]) -> Vec<f32> {
    let root = world.process_at_rank(0);
    if world.rank() != 0 {
        root.gather_varcount_into(cells);
        return Vec::new();
    }
    let parts = (0..world.size()).map(|rank| grid.part(rank as usize));
    let parts: Vec<Part> = parts.collect();
    let counts = parts.iter().map(|part| part.cells().count() as i32);
    let counts: Vec<i32> = counts.collect();
    let starts = counts.iter().scan(0, |next, count| {
        *next += count;
        Some(*next - count)
    });
    let starts: Vec<i32> = starts.collect();
    let mut received = vec![0.0f32; grid.rows * grid.columns];
    root.gather_varcount_into_root(
        cells,
        &mut PartitionMut::new(&mut received[..], counts, starts),
    );
    let mut all = vec![0.0; received.len()];
    let places = parts.iter().flat_map(Part::cells);
    for ((row, column), value) in places.zip(received) {
        all[row * grid.columns + column] = value;
    }
    all
}

/// Computes the whole grid as one tile, and in Rust, and compares each bit.
fn compare(
    device: &syclbin_rt::Device,
    grid: &Grid,
    steps: usize,
    cells: &[f32],
) -> Result<(), Box<dyn Error>> {
    let mut alone = Tile::new(device, grid, &grid.all())?;
    for _ in 0..steps {
        alone.step(|_, _| ())?;
    }
    let bits = |cells: &[f32]| -> Vec<u32> { cells.iter().map(|value| value.to_bits()).collect() };
    let found = bits(cells);
    for (expected, who) in [(alone.cells()?, "one rank"), (grid.in_rust(steps), "Rust")] {
        let expected = bits(&expected);
        if let Some(i) = (0..found.len()).find(|&i| found[i] != expected[i]) {
            let [found, expected] = [found[i], expected[i]].map(f32::from_bits);
            let (row, column) = (i / grid.columns, i % grid.columns);
            return Err(format!(
                "row {row}, column {column} is {found}, and {expected} as {who} computes it"
            )
            .into());
        }
        println!("cells     all as {who} computes them");
    }
    Ok(())
}
