//! Positions on the Earth, by latitude and longitude in degrees.

use thalweg_proto::units::Duration;

/// Propagation delay of fibre, in seconds per km (ITU-T G.114, annex A: 5 us per km).
const SECONDS_PER_KM: f64 = 5e-6;
/// Mean radius of the Earth, in km.
const EARTH_RADIUS_KM: f64 = 6371.0;
/// Maximum distance of positions at one place, in km: most coordinates are of towns.
const MAX_SAME_PLACE_KM: f64 = 0.2;

/// Returns the fibre delay along the great circle between two positions; `None` if they are one place.
pub(super) fn delay_between(a: [f64; 2], b: [f64; 2]) -> Option<Duration> {
    let kilometres = great_circle_km(a, b);
    (kilometres >= MAX_SAME_PLACE_KM).then(|| Duration::from_secs_f64(kilometres * SECONDS_PER_KM))
}

/// Returns the great-circle distance between two positions, in km.
fn great_circle_km([latitude_a, longitude_a]: [f64; 2], [latitude_b, longitude_b]: [f64; 2]) -> f64 {
    let half = |degrees: f64| libm::sin(degrees.to_radians() / 2.0);
    let (north, east) = (half(latitude_b - latitude_a), half(longitude_b - longitude_a));
    let cosines = libm::cos(latitude_a.to_radians()) * libm::cos(latitude_b.to_radians());
    2.0 * EARTH_RADIUS_KM * libm::asin((north * north + cosines * east * east).clamp(0.0, 1.0).sqrt())
}

/// Returns the midpoint of several positions: their mean in space, projected onto the surface. For antipodal positions,
/// which have no midpoint, the first; `None` without positions.
pub(super) fn centroid_of_positions(places: impl Iterator<Item = [f64; 2]>) -> Option<[f64; 2]> {
    let (mut sum, mut first) = ([0.0; 3], None);
    for place in places {
        first.get_or_insert(place);
        let [latitude, longitude] = place.map(f64::to_radians);
        let out = libm::cos(latitude);
        let point = [out * libm::cos(longitude), out * libm::sin(longitude), libm::sin(latitude)];
        sum.iter_mut().zip(point).for_each(|(sum, part)| *sum += part);
    }
    let [x, y, z] = sum;
    if x * x + y * y + z * z < 1e-12 {
        return first;
    }
    let latitude = libm::atan2(z, libm::sqrt(x * x + y * y));
    Some([latitude.to_degrees(), libm::atan2(y, x).to_degrees()])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quarter of the way round, and Berlin to Paris: 878 km.
    #[test]
    fn distances_are_great_circle_distances() {
        assert!((great_circle_km([0.0, 0.0], [0.0, 90.0]) - 10_007.5).abs() < 0.1);
        let berlin_paris = great_circle_km([52.52, 13.405], [48.8566, 2.3522]);
        assert!((berlin_paris - 877.5).abs() < 2.0, "{berlin_paris}");
        assert_eq!(delay_between([10.0, 20.0], [10.0, 20.001]), None);
    }

    /// The midpoint of two positions has equal distances to both, also across the 180th meridian.
    #[test]
    fn midpoints_are_equidistant() {
        let near = |found: [f64; 2], expected: [f64; 2]| great_circle_km(found, expected) < 1e-6;
        assert!(near(centroid_of_positions([[0.0, 10.0], [0.0, 20.0]].into_iter()).unwrap(), [0.0, 15.0]));
        assert!(near(
            centroid_of_positions([[0.0, 170.0], [0.0, -170.0]].into_iter()).unwrap(),
            [0.0, 180.0]
        ));
        let [a, b] = [[52.52, 13.405], [48.8566, 2.3522]];
        let middle = centroid_of_positions([a, b].into_iter()).unwrap();
        assert!((great_circle_km(a, middle) - great_circle_km(b, middle)).abs() < 1e-6);
        assert!(near(centroid_of_positions([[0.0, 0.0], [0.0, 180.0]].into_iter()).unwrap(), [0.0, 0.0]));
        assert_eq!(centroid_of_positions(std::iter::empty()), None);
    }
}
