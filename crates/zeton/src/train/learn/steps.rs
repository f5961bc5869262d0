//! How often the piece at a place occurs.

/// Where the pieces of each count begin.
pub(super) struct Steps {
    /// The first place, and the count from there on; the last one ends them all.
    steps: Vec<(u32, u64)>,
    /// The step of every so many cells, so that none is far.
    marks: Vec<u32>,
}

const MARK_CELLS: u32 = if cfg!(test) { 4 } else { 128 };

impl Steps {
    pub(super) fn of(mut steps: Vec<(u32, u64)>, cells: usize) -> Self {
        steps.push((u32::MAX, 0));
        let mut step = 0;
        let marks = (0..cells as u32).step_by(MARK_CELLS as usize).map(|place| {
            while steps[step + 1..].first().is_some_and(|next| next.0 <= place) {
                step += 1;
            }
            step as u32
        });
        let marks = marks.collect();
        Self { steps, marks }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.steps[..]) + size_of_val(&self.marks[..])
    }

    pub(super) fn cursor(&self) -> Cursor<'_> {
        Cursor { steps: self, count: 0, end: 0 }
    }
}

/// Tells the counts of pieces, at rising places.
pub(super) struct Cursor<'s> {
    steps: &'s Steps,
    count: u64,
    /// The first place that has another count.
    end: u32,
}

impl Cursor<'_> {
    /// Returns the count of the piece at a place.
    #[inline(always)]
    pub(super) fn count(&mut self, place: u32) -> u64 {
        if place >= self.end {
            self.seek(place);
        }
        self.count
    }

    #[inline]
    fn seek(&mut self, place: u32) {
        let Steps { steps, marks } = self.steps;
        let mut step = marks[(place / MARK_CELLS) as usize] as usize;
        while steps[step + 1].0 <= place {
            step += 1;
        }
        (self.count, self.end) = (steps[step].1, steps[step + 1].0);
    }
}
